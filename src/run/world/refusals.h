// SPDX-License-Identifier: Apache-2.0
//
// Refused allocations of LPs: if a model continues after malloc has failed, the run reports that.
// Also the limit for single allocations (--oversize).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "memory/application_mode.h"
#include "memory/size_class.h"

namespace orrery {

/// Refusals of the calling thread, since construction.
class Refusals {
 public:
  /// A note for the result; empty if nothing was refused, or a fault has reported it. `denied`: by
  /// option.
  std::string note(bool denied) const {
    const std::uint64_t count = memory::thread_context.refusals - before_;
    const std::size_t last_bytes = memory::thread_context.refused_bytes;  // 0: reported by a fault
    if (count == 0 || last_bytes == 0) return {};
    return "LPs of one thread were refused memory " + std::to_string(count) + " times, at last " +
           std::to_string(last_bytes) + " bytes" + (denied ? " (--oversize deny)" : "");
  }

 private:
  const std::uint64_t before_ = memory::thread_context.refusals;
};

/// While it exists, LPs on the calling thread are refused single allocations above a block, if
/// `denied`.
class OversizeLimit {
 public:
  explicit OversizeLimit(bool denied) {
    if (denied) memory::thread_context.denies_above_bytes = memory::kBlockBytes;
  }
  ~OversizeLimit() { memory::thread_context.denies_above_bytes = before_; }
  OversizeLimit(const OversizeLimit&) = delete;
  OversizeLimit& operator=(const OversizeLimit&) = delete;

 private:
  const std::size_t before_ = memory::thread_context.denies_above_bytes;
};

}  // namespace orrery
