// SPDX-License-Identifier: Apache-2.0
//
// The atomic type of the protocols between workers. They take it as a parameter, so that
// tests/explore can run the same headers on its own atomics, whose every operation is a point at
// which another thread may run. None of the protocols waits for anything, so they need nothing
// else: no pause, no fence, no lock.
#pragma once

#include <atomic>

namespace orrery::transport {

struct StandardAtomics {
  template <class T>
  using atomic = std::atomic<T>;
};

}  // namespace orrery::transport
