// SPDX-License-Identifier: Apache-2.0
//
// The lock of a run (run_dealing.cpp), for std::lock_guard and the like. Threads wait for it as for
// each other: spinning, then yielding, then in naps.
#pragma once

#include <time.h>

#include <atomic>

#include "run/threads/waiting.h"

namespace orrery::expanded {

class alignas(64) Lock {
 public:
  /// Locked by the caller.
  explicit Lock(bool crowded) : waiting_(crowded) {}

  bool try_lock() {
    return !locked_.load(std::memory_order_relaxed) &&
           !locked_.exchange(true, std::memory_order_acquire);
  }
  void lock() {
    wait([this] { return try_lock(); });
  }
  void unlock() { locked_.store(false, std::memory_order_release); }

  /// Waits until ready(), which may try the lock.
  template <class Ready>
  void wait(Ready&& ready) const {
    while (!waiting_.wait(ready)) {
      const timespec nap{0, 50'000};
      nanosleep(&nap, nullptr);
    }
  }

  /// A scope in which other threads may take the lock that the caller holds.
  class Open {
   public:
    explicit Open(Lock& lock) : lock_(lock) { lock_.unlock(); }
    ~Open() { lock_.lock(); }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

   private:
    Lock& lock_;
  };

 private:
  std::atomic<bool> locked_{true};
  const SpinThenYield waiting_;
};

}  // namespace orrery::expanded
