// SPDX-License-Identifier: Apache-2.0
//
// What workers promise each other: each says on a line of its own how far it has come, in ticks; it
// will begin nothing earlier any more. Who knows the smallest delay from that worker to itself
// knows up to where no message of it can come: the null messages of Chandy, Misra and Bryant
// (Chandy and Misra: Distributed simulation: a case study in design and verification of distributed
// programs. IEEE Trans. Software Engineering 5(5), 1979), as stores.
//
// The order of a reader: first the promise, then its inbox. What a worker sent before it promised
// was in the reader's ring by then: the ring's tail was published before the promise, which is a
// release, and reading the promise is an acquire. A worker that has messages for which a ring had
// no room promises nothing new until they are in.
#pragma once

#include <cstdint>
#include <memory>

#include "transport/atomics.h"

namespace orrery::transport {

template <class Atomics = StandardAtomics>
class Board {
 public:
  explicit Board(unsigned workers) : lines_(std::make_unique<Line[]>(workers)) {}

  /// By `worker` itself: never less than before, unless nobody reads.
  void promise(unsigned worker, std::int64_t ticks) {
    lines_[worker].ticks.store(ticks, std::memory_order_release);
  }
  std::int64_t promised(unsigned worker) const {
    return lines_[worker].ticks.load(std::memory_order_acquire);
  }
  /// For one who waits until it changes: carries no data, so relaxed.
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
