// SPDX-License-Identifier: Apache-2.0
//
// The rings of all ordered pairs of workers. Each ring has one producer and one consumer, so
// nothing needs an atomic read-modify-write, and each pair is FIFO, which keeps notices of
// cancellation and GVT simple. The memory grows with the square of the workers, so rings get
// shorter when there are many workers. A single worker has no ring.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>
#include <vector>

#include "transport/ring.h"

namespace orrery::transport {

/// Capacity of each ring of a mesh: a power of two, at most `wanted` and at least 1. The rings to
/// one worker have at most kEntriesPerConsumer entries together, as long as that leaves
/// kShortestRing to a ring.
constexpr std::size_t ring_capacity(unsigned workers, std::size_t wanted) {
  constexpr std::size_t kEntriesPerConsumer = 32768;
  constexpr std::size_t kShortestRing = 64;
  std::size_t capacity = std::bit_floor(std::max<std::size_t>(wanted, 1));
  while (capacity > kShortestRing && capacity * workers > kEntriesPerConsumer) capacity /= 2;
  return capacity;
}

template <class Entry, class Atomics = StandardAtomics>
class Mesh {
 public:
  using RingType = Ring<Entry, Atomics>;

  Mesh(unsigned workers, std::size_t wanted_capacity)
      : workers_(workers), rings_(std::size_t{workers} * workers) {
    const std::size_t capacity = ring_capacity(workers, wanted_capacity);
    for (unsigned from = 0; from < workers; ++from)
      for (unsigned to = 0; to < workers; ++to)
        if (from != to) rings_[from * workers_ + to] = std::make_unique<RingType>(capacity);
  }

  unsigned workers() const { return static_cast<unsigned>(workers_); }
  /// `from` and `to` differ.
  RingType& ring(unsigned from, unsigned to) { return *rings_[from * workers_ + to]; }
  const RingType& ring(unsigned from, unsigned to) const { return *rings_[from * workers_ + to]; }

  // For worker `from` only.
  void flush(unsigned from) {
    for (unsigned to = 0; to < workers_; ++to)
      if (to != from) ring(from, to).flush();
  }
  /// Visits entries of `from` that found no room yet.
  template <class Visit>
  void for_each_waiting(unsigned from, Visit&& visit) const {
    for (unsigned to = 0; to < workers_; ++to)
      if (to != from) ring(from, to).for_each_waiting(visit);
  }

  /// Whether the other workers have received all entries that `from` pushed.
  bool all_received(unsigned from) const {
    for (unsigned to = 0; to < workers_; ++to)
      if (to != from && !ring(from, to).all_received()) return false;
    return true;
  }

  // For worker `to` only: receives all published entries; returns their number.
  template <class Receive>
  std::size_t drain(unsigned to, Receive&& receive) {
    std::size_t received = 0;
    for (unsigned from = 0; from < workers_; ++from)
      if (from != to) received += ring(from, to).drain(receive);
    return received;
  }

 private:
  const std::size_t workers_;
  std::vector<std::unique_ptr<RingType>> rings_;  ///< by producer, then consumer
};

}  // namespace orrery::transport
