// SPDX-License-Identifier: Apache-2.0
//
// The schedule's policy for Linux: atomics, a robust lock, which reports the death of its owner,
// lives, and futexes.
//
// A Life is a lock that a federate's thread holds from joining to leaving. When the thread ends
// without leaving, in whatever way, the kernel marks the lock (by the thread's robust list). So the
// check whether a federate has died is a load and a compare-exchange. The check stays right when a
// process number is used again, and needs no descriptor of every process in every other, as pidfds
// would.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "llf/cores.h"

namespace orrery::llf {

class RobustLock {
 public:
  /// Call it once, in memory that is zero.
  void make();
  /// True if the last owner died with the lock.
  bool lock();
  /// False if another thread has locked it.
  bool unlock() { return pthread_mutex_unlock(&mutex_) == 0; }
  /// Whether the owner has died; the lock is free afterwards.
  bool take_if_dead();

 private:
  pthread_mutex_t mutex_;
};

/// The life lock of a federate, its process and its name.
struct Life {
  RobustLock lock;
  std::int32_t process;
  char name[48];
  Cores cores;          ///< that it may use; this and the next under the lock of the schedule
  std::uint32_t limit;  ///< of its control groups

  bool take_if_dead() { return lock.take_if_dead(); }
};

struct Linux {
  template <class T>
  using atomic = std::atomic<T>;
  template <class T>
  class Guarded {
   public:
    Guarded(T value) : value_(value) {}
    T get() const { return value_; }
    void set(T value) { value_ = value; }

   private:
    T value_;
  };
  using Lock = RobustLock;
  using Life = llf::Life;

  static bool wait(std::atomic<std::uint32_t>& bell, std::uint32_t seen, std::int64_t timeout_ns);
  static void wake(std::atomic<std::uint32_t>& bell);
  static std::int64_t now();

  // Futexes and the atomics of other processes must be plain words in memory.
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
                std::atomic<std::uint32_t>::is_always_lock_free &&
                sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
};

}  // namespace orrery::llf
