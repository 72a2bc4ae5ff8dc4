// SPDX-License-Identifier: Apache-2.0
//
// The clocks of directed threads after each tick, for one reader that is another thread. The thread
// that keeps the beat must not wait, so there are three copies: one for the writer, one for the
// reader, and the newest complete one between them, which both exchange for theirs.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "director/thread.h"

namespace orrery::director {

struct ProcessorClock {
  ThreadId id = {};
  Nanoseconds consumed = 0, virtual_time = 0;
  double weight = 1;
  bool is_runnable = false, has_turn = false;
};

struct Clocks {
  Nanoseconds at = 0;      ///< of the tick, by CLOCK_MONOTONIC
  Nanoseconds system = 0;  ///< the system's clock
  std::vector<ProcessorClock> processors;
};

class ClockBoard {
 public:
  static constexpr std::size_t kMostProcessors = 1024;

  ClockBoard() : bell_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    for (Clocks& one : copies_) one.processors.reserve(kMostProcessors);
  }

  // For the writer.
  Clocks& draft() { return copies_[writers_]; }
  void publish() {
    // Sequentially consistent, here and in the reader's functions: the reader sees the whole copy, the
    // writer gets a copy that the reader has left, and of a writer that publishes and a reader that
    // begins to await, one sees what the other has done.
    writers_ = between_.exchange(writers_ | kNew) & ~kNew;
    if (!awaited_.load() || !awaited_.exchange(false)) return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t done = write(bell_.number(), &one, sizeof one);
  }
  /// What the system's clock may leap to while all threads are idle (Policy::set_leap). Relaxed: a
  /// value alone, for the next tick.
  Nanoseconds leap() const { return leap_.load(std::memory_order_relaxed); }

  // For the reader.
  /// The newest clocks. They stay the same until the next call.
  const Clocks& newest() {
    if ((between_.load() & kNew) != 0) readers_ = between_.exchange(readers_) & ~kNew;
    return copies_[readers_];
  }
  void set_leap(Nanoseconds to) { leap_.store(to, std::memory_order_relaxed); }
  /// Lets bell() ring once at the next tick. False if there are newer clocks already.
  bool await_tick() {
    awaited_.store(true);
    return (between_.load() & kNew) == 0;
  }
  /// An eventfd.
  const Descriptor& bell() const { return bell_; }

 private:
  static constexpr unsigned kNew = 4;  ///< flag: the copy between is newer than the reader's
  std::array<Clocks, 3> copies_;
  unsigned writers_ = 0, readers_ = 2;
  std::atomic<unsigned> between_{1};
  std::atomic<bool> awaited_{false};
  std::atomic<Nanoseconds> leap_{INT64_MIN};
  Descriptor bell_;
};

}  // namespace orrery::director
