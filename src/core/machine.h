// SPDX-License-Identifier: Apache-2.0
//
// What this machine has for a run: cores and memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace orrery {

/// Number of cores that this process may use.
unsigned usable_cores();

/// The same, but no more than the control groups of this process grant (cpu.max of version 2), at
/// least 1.
unsigned granted_cores();

/// Binds the calling thread to the `worker`-th usable core. Returns false if the system refuses.
bool bind_to_core(unsigned worker);

/// All last-level caches that the cores share, in bytes; 32 MiB if the system does not tell.
std::size_t last_level_cache_bytes();

/// Available memory of the system, in bytes.
std::uint64_t available_memory_bytes();

}  // namespace orrery
