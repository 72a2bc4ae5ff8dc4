// SPDX-License-Identifier: Apache-2.0
//
// Lower bounds that workers publish. Each worker writes, on its own cache line, the time in ticks
// before which it will begin nothing any more. A worker that knows the smallest delay from another
// worker to itself (the lookahead) then knows a lower bound on that worker's messages. These are
// the null messages of Chandy, Misra and Bryant (Chandy and Misra: Distributed simulation: a case
// study in design and verification of distributed programs. IEEE Trans. Software Engineering 5(5),
// 1979), as stores.
//
// A reader must load the promise first, then read its inbox. All messages that a worker sent before
// its promise are then in the reader's ring: the ring's tail was published before the promise,
// which is a release, and reading the promise is an acquire. A worker with messages for which a
// ring had no room makes no new promise until they are in the ring.
#pragma once

#include <cstdint>
#include <memory>

#include "transport/atomics.h"

namespace orrery::transport {

template <class Atomics = StandardAtomics>
class Board {
 public:
  explicit Board(unsigned workers) : lines_(std::make_unique<Line[]>(workers)) {}

  /// Called by `worker` itself. The value never decreases, unless no other worker reads it.
  void promise(unsigned worker, std::int64_t ticks) {
    lines_[worker].ticks.store(ticks, std::memory_order_release);
  }
  std::int64_t promised(unsigned worker) const {
    return lines_[worker].ticks.load(std::memory_order_acquire);
  }
  /// For a worker that waits for a change. Relaxed, since the value is used for nothing else.
  std::int64_t glance(unsigned worker) const {
    return lines_[worker].ticks.load(std::memory_order_relaxed);
  }

 private:
  struct alignas(64) Line {
    typename Atomics::template atomic<std::int64_t> ticks{0};
  };
  std::unique_ptr<Line[]> lines_;
};

}  // namespace orrery::transport
