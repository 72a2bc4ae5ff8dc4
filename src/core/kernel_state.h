// SPDX-License-Identifier: Apache-2.0
//
// The platform's part of an LP's state. A rollback has to restore only this and the LP's memory,
// and only these pass from engine to engine.
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
