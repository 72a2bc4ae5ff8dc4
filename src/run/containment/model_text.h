// SPDX-License-Identifier: Apache-2.0
//
// Addresses of a model's own code in the process, and of its thread-local variables: for
// interrupting model code at any instruction (preemption.h). An instruction elsewhere may be in the
// C library, which may hold a lock there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "orrery/model.h"

namespace orrery {

class ModelText {
 public:
  /// The module of `model`, and the mathematical functions, which keep no state.
  explicit ModelText(const Model& model);

  bool contains(const void* address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    for (const Range& range : ranges_)
      if (at - range.begin < range.bytes) return true;
    return false;
  }

  /// Bytes of its module's thread-local variables. In an executable they include the platform's.
  std::size_t locals_bytes() const { return locals_bytes_; }
  /// The calling thread's thread-local variables of the module. May allocate on the first call.
  std::byte* locals() const;

 private:
  struct Range {
    std::uintptr_t begin;
    std::size_t bytes;
  };
  struct Search;
  void add(const void* module_info, bool is_models);

  std::vector<Range> ranges_;
  std::size_t locals_module_ = 0, locals_bytes_ = 0;
};

}  // namespace orrery
