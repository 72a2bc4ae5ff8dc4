// SPDX-License-Identifier: Apache-2.0
//
// Where the protocols between workers get their atomics from. They take it as a parameter, so that
// tests/explore can run the same headers on atomics of its own, whose every operation is a point at
// which another thread may go on. None of the protocols waits for anything, so they need nothing
// else: no pause, no fence, no lock.
#pragma once

#include <atomic>

namespace orrery::transport {

struct StandardAtomics {
  template <class T>
  using atomic = std::atomic<T>;
};

}  // namespace orrery::transport
