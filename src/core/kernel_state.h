// SPDX-License-Identifier: Apache-2.0
//
// The part of an LP's state that the platform keeps: with the LP's memory it is all that a rollback
// has to restore, and all that passes from engine to engine.
#pragma once

#include <cstdint>

namespace orrery {

struct KernelState {
  std::uint64_t hash = 0;             ///< running fingerprint
  std::uint64_t random_position = 0;  ///< next block of the random stream
  std::uint64_t sends = 0;            ///< send count

  bool operator==(const KernelState&) const = default;
};

}  // namespace orrery
