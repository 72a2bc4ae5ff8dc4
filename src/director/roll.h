// SPDX-License-Identifier: Apache-2.0
//
// What the director has changed, in memory that it shares with its guardian: each thread with how
// it was scheduled before. A thread is on the roll before anything of it is changed, and until it
// has been given back or has ended, so at any moment whoever reads the roll can give all back.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "director/scheduling.h"
#include "director/thread.h"

namespace orrery::director {

struct RollEntry {
  std::atomic<bool> is_used;
  ThreadId thread;
  Scheduling before;
  cpu_set_t cores_before;
  std::atomic<bool> cores_changed;

  /// Gives the thread its scheduling and its cores back, if it is still the same thread. The entry
  /// stays.
  void give_back() const;
};

class Roll {
 public:
  static constexpr std::size_t kMost = 8192;

  /// Shared with processes that are forked from here on. Throws std::bad_alloc.
  Roll();
  ~Roll();
  Roll(const Roll&) = delete;
  Roll& operator=(const Roll&) = delete;

  /// Null if the roll is full.
  RollEntry* add(const ThreadId& thread, const Scheduling& before);
  static void remove(RollEntry& entry) { entry.is_used.store(false, std::memory_order_release); }
  /// What a thread of that process had before; null if none is on the roll.
  const Scheduling* of_process(pid_t process) const;
  void give_all_back() const;
  /// Threads that were born of threads on the roll meanwhile and are not on it themselves: born of
  /// one that waited, they are scheduled as it was then. Gives each what the first thread of its
  /// process had; call it after `give_all_back`.
  void give_back_to_children() const;

  /// Counts the director's ticks; one that stands still makes the guardian give all back.
  std::atomic<std::uint64_t>& heartbeat() { return shared_->heartbeat; }
  /// How often the guardian has done that.
  std::atomic<std::uint32_t>& rescues() { return shared_->rescues; }

 private:
  struct Shared {
    std::atomic<std::uint64_t> heartbeat;
    std::atomic<std::uint32_t> rescues;
    RollEntry entries[kMost];
  };
  Shared* shared_;
};

}  // namespace orrery::director
