// SPDX-License-Identifier: Apache-2.0
//
// Samples on their way from the thread that keeps the beat to the thread that writes them. The
// first has a millisecond and must not wait; the second may wait for a disk. So the ring has no
// lock, and samples without room are counted, not waited for.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "director/policy.h"

namespace orrery::director {

struct Sample {
  Nanoseconds at = 0;  ///< since the director began
  Nanoseconds virtual_time = 0, consumed = 0;
  std::uint32_t thread = 0;  ///< the director's number of the thread
  bool is_runnable = false;
  Turn turn = Turn::waiting;
};

/// For one writer and one reader.
class SampleRing {
 public:
  SampleRing() : samples_(kSize) {}

  void put(const Sample& sample) {
    const std::uint64_t end = written_.load(std::memory_order_relaxed);
    if (end - read_.load(std::memory_order_acquire) == kSize) {
      lost_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    samples_[end % kSize] = sample;
    written_.store(end + 1, std::memory_order_release);
  }

  template <class Visit>
  void take_all(Visit visit) {
    std::uint64_t next = read_.load(std::memory_order_relaxed);
    const std::uint64_t end = written_.load(std::memory_order_acquire);
    for (; next != end; ++next) visit(samples_[next % kSize]);
    read_.store(next, std::memory_order_release);
  }

  std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint64_t kSize = std::uint64_t{1} << 17;
  std::vector<Sample> samples_;
  alignas(64) std::atomic<std::uint64_t> written_{0};
  alignas(64) std::atomic<std::uint64_t> read_{0};
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace orrery::director
