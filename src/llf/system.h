// SPDX-License-Identifier: Apache-2.0
//
// What the schedule gets from Linux: atomics, a lock whose owner's death is told to the next,
// lives, and futexes.
//
// A life is a lock that a federate's thread has from joining to leaving. When the thread ends
// without leaving, in whatever way, the kernel marks the lock (the robust list of its thread). So
// whether a federate has died is a load and a compare-exchange, which says nothing wrong when a
// process number is used again, and needs no descriptor of every process in every other, as pidfds
// would.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace orrery::llf {

class RobustLock {
 public:
  /// Once, in memory that is zero.
  void make();
  /// True if whoever had it last died with it.
  bool lock();
  /// False if it was another thread that locked it.
  bool unlock() { return pthread_mutex_unlock(&mutex_) == 0; }
  /// Whether whoever had it has died; nobody has it then.
  bool take_if_dead();

 private:
  pthread_mutex_t mutex_;
};

/// A federate's life, and who it is.
struct Life {
  RobustLock lock;
  std::int32_t process;
  char name[48];

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

  // Futexes and other processes' atomics are words in memory.
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
                std::atomic<std::uint32_t>::is_always_lock_free &&
                sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
};

}  // namespace orrery::llf
