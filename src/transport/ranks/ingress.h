// SPDX-License-Identifier: Apache-2.0
//
// The entries that have come from other ranks, in a ring for each worker. The thread that makes
// progress is the producer of all rings, guarded by the transport's lock.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "transport/mesh.h"
#include "transport/ring.h"

namespace orrery::transport {

template <class Entry>
class Ingress {
 public:
  /// `wanted`: capacity of a ring; further entries must wait.
  Ingress(unsigned workers, std::size_t wanted) {
    const std::size_t capacity = ring_capacity(workers, wanted);
    for (unsigned worker = 0; worker < workers; ++worker)
      rings_.push_back(std::make_unique<Ring<Entry>>(capacity));
  }

  // With the transport's lock held.
  void push(unsigned worker, Entry entry) { rings_[worker]->push(entry); }
  /// Publishes the entries pushed. False if some found no room.
  bool flush() {
    bool waits = false;
    for (const auto& ring : rings_) {
      ring->flush();
      ring->for_each_waiting([&waits](const Entry&) { waits = true; });
    }
    return !waits;
  }

  /// Called by the worker: receive(entry) for all published entries; returns their number.
  template <class Receive>
  std::size_t drain(unsigned worker, Receive&& receive) {
    return rings_[worker]->drain(receive);
  }

 private:
  std::vector<std::unique_ptr<Ring<Entry>>> rings_;
};

}  // namespace orrery::transport
