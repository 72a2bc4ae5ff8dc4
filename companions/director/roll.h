// SPDX-License-Identifier: Apache-2.0
//
// The changes that the director has made, in memory that it shares with its guardian: each thread
// with its scheduling before. A thread is on the roll before anything of it is changed, and until
// it has been given back or has ended, so a reader of the roll can undo all changes at any time.
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

  /// The memory is shared with processes that are forked later. Throws std::bad_alloc.
  Roll();
  ~Roll();
  Roll(const Roll&) = delete;
  Roll& operator=(const Roll&) = delete;

  /// Null if the roll is full.
  RollEntry* add(const ThreadId& thread, const Scheduling& before);
  static void remove(RollEntry& entry) { entry.is_used.store(false, std::memory_order_release); }
  /// The scheduling that a thread of the process had before; null if none is on the roll.
  const Scheduling* of_process(pid_t process) const;
  void give_all_back() const;
  /// For threads that threads on the roll have started meanwhile and that are not on the roll: a
  /// child of a waiting thread has that thread's scheduling. Gives each child the scheduling that
  /// the first thread of its process had before. Call it after `give_all_back`.
  void give_back_to_children() const;

  /// Counts the director's ticks; if the count stays the same, the guardian gives all threads back.
  std::atomic<std::uint64_t>& heartbeat() { return shared_->heartbeat; }
  /// The number of times that the guardian has done this.
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
