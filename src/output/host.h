// SPDX-License-Identifier: Apache-2.0
//
// Facts about the machine and this process for the report, since performance figures mean little
// without them.
#pragma once

#include <cstdint>
#include <string>

namespace orrery {

struct HostFacts {
  std::string cpu;                 ///< model name, "unknown" if the system does not say
  unsigned cores = 0;              ///< processors that are online
  unsigned usable_cores = 0;       ///< online processors that this process may use; at least 1
  std::uint64_t memory_bytes = 0;  ///< physical
  std::string system;              ///< kernel name and release, machine

  static HostFacts now();
};

/// Resident memory of this process in bytes, now and the maximum so far.
std::uint64_t resident_bytes();
std::uint64_t peak_resident_bytes();

}  // namespace orrery
