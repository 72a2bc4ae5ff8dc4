// SPDX-License-Identifier: Apache-2.0
//
// Ranks as groups of threads in one process, for tests: the thread sanitizer then sees errors in
// the protocols between ranks, and a seed reproduces them. An adversary delays messages on their
// way: each stream from one rank to another stops again and again, mostly briefly, sometimes for
// long, counted in the receiver's looks. It never reorders a stream, since no wire does.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include "transport/ranks/wire.h"

namespace orrery::transport {

class MemoryFabric {
 public:
  struct Adversary {
    std::uint64_t seed = 0;
    bool delays = false;
  };
  explicit MemoryFabric(unsigned ranks) : MemoryFabric(ranks, Adversary{}) {}
  MemoryFabric(unsigned ranks, Adversary adversary);
  MemoryFabric(const MemoryFabric&) = delete;
  MemoryFabric& operator=(const MemoryFabric&) = delete;

  unsigned ranks() const { return ranks_; }
  /// The wire of one rank; the fabric must outlive it. Call it once for each rank.
  std::unique_ptr<Wire> wire(unsigned rank);

 private:
  friend class MemoryWire;
  struct Stream {
    std::mutex mutex;
    std::deque<Parcel> parcels;
  };
  Stream& stream(unsigned from, unsigned to) { return *streams_[from * ranks_ + to]; }

  const unsigned ranks_;
  const Adversary adversary_;
  std::vector<std::unique_ptr<Stream>> streams_;  ///< by sender, then receiver
  /// By rank: whether it has ended without part(). The flag carries no data: relaxed.
  std::unique_ptr<std::atomic<bool>[]> lost_;
};

}  // namespace orrery::transport
