// SPDX-License-Identifier: Apache-2.0
//
// How a thread interrupts another thread in a long event (run/containment/preemption.h). A worker
// whose events are long publishes the time of the event that it handles. A sender of an earlier
// event *wakes* that worker's thread: it sets the thread's attention byte, which the handler checks
// the next time that it calls the platform. If the event has run for a while already, the thread
// gets a signal, too.
//
// The times published here are hints, relaxed: messages and rounds are ordered by their own
// channels. If a hint is missed, the long event runs to its end, or, if it never ends, until the
// next GVT round: the round cannot finish without that thread, and the threads that wait for it
// wake it again and again (laggards.h).
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>

#include "core/model_stack.h"
#include "memory/application_mode.h"

namespace orrery::timewarp {

class ThreadWaker {
  struct Target;

 public:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

  /// What a worker publishes, on a cache line of its own.
  struct alignas(64) Running {
    std::atomic<std::int64_t> ticks{kNone};  ///< time of the event, if those of the worker are long
    std::atomic<std::uint64_t> since{0};     ///< cycles
  };

  explicit ThreadWaker(unsigned workers)
      : running_(std::make_unique<Running[]>(workers)),
        targets_(std::make_unique<Target[]>(workers)) {}

  Running& running(unsigned worker) { return running_[worker]; }
  /// Whether the worker has published a long event.
  bool publishes(unsigned worker) const {
    return running_[worker].ticks.load(std::memory_order_relaxed) != kNone;
  }

  /// Lets other threads wake the calling thread, as long as this object exists.
  class Registration {
   public:
    Registration(ThreadWaker& waker, unsigned worker) : target_(waker.targets_[worker]) {
      target_.set(&memory::thread_context.attention);
    }
    ~Registration() { target_.set(nullptr); }
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

   private:
    Target& target_;
  };

  /// `with_signal`: for a handler that may not call the platform for long.
  void wake(unsigned worker, bool with_signal) {
    with(worker, [with_signal](Target& target) {
      target.attention->fetch_or(memory::kLook, std::memory_order_relaxed);
      if (with_signal) pthread_kill(target.thread, kAttentionSignal);
    });
  }
  /// For a worker that was woken: sends a signal if it has not reacted yet.
  void signal_unless_noticed(unsigned worker) {
    with(worker, [](Target& target) {
      if ((target.attention->load(std::memory_order_relaxed) & memory::kLook) != 0)
        pthread_kill(target.thread, kAttentionSignal);
    });
  }

 private:
  /// Locked, so that no thread wakes a thread that has ended. The lock is taken for long events
  /// only.
  struct alignas(64) Target {
    std::mutex mutex;
    std::atomic<std::uint8_t>* attention = nullptr;
    pthread_t thread{};

    void set(std::atomic<std::uint8_t>* of_caller) {
      const std::lock_guard lock(mutex);
      attention = of_caller;
      thread = pthread_self();
    }
  };
  template <class Action>
  void with(unsigned worker, Action&& action) {
    Target& target = targets_[worker];
    const std::lock_guard lock(target.mutex);
    if (target.attention != nullptr) action(target);
  }

  const std::unique_ptr<Running[]> running_;
  const std::unique_ptr<Target[]> targets_;
};

}  // namespace orrery::timewarp
