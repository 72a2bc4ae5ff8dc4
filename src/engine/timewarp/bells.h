// SPDX-License-Identifier: Apache-2.0
//
// How threads call each other back from long events (run/containment/preemption.h). A worker whose
// events are long publishes the time of the event that it handles. A sender of an earlier event
// *rings*: it sets the attention byte of that worker's thread, which the handler checks the next
// time that it calls the platform. If the event has run for a while already, the thread gets a
// signal, too.
//
// The times published here are hints, relaxed: messages and rounds are ordered by their own
// channels. If a hint is missed, the long event runs to its end, or, if it never ends, until the
// next GVT round: the round cannot finish without that thread, and the threads that wait for it
// ring again and again (crew.h).
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

class Bells {
  struct Bell;

 public:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

  /// What a worker publishes, on a cache line of its own.
  struct alignas(64) Running {
    std::atomic<std::int64_t> ticks{kNone};  ///< time of the event, if those of the worker are long
    std::atomic<std::uint64_t> since{0};     ///< cycles
  };

  Bells(unsigned workers, unsigned threads)
      : workers_(workers),
        threads_(threads),
        running_(std::make_unique<Running[]>(workers)),
        bells_(std::make_unique<Bell[]>(threads)) {}

  Running& running(unsigned worker) { return running_[worker]; }
  /// Neighbouring workers share a thread.
  unsigned thread_of(unsigned worker) const { return worker * threads_ / workers_; }

  /// Whether a worker of the thread has published a long event.
  bool publishes(unsigned thread) const {
    for (unsigned worker = 0; worker < workers_; ++worker)
      if (thread_of(worker) == thread &&
          running_[worker].ticks.load(std::memory_order_relaxed) != kNone)
        return true;
    return false;
  }

  /// Lets other threads ring the calling thread, as long as this object exists.
  class Hung {
   public:
    Hung(Bells& bells, unsigned thread) : bell_(bells.bells_[thread]) {
      bell_.hang(&memory::thread_context.attention);
    }
    ~Hung() { bell_.hang(nullptr); }
    Hung(const Hung&) = delete;
    Hung& operator=(const Hung&) = delete;

   private:
    Bell& bell_;
  };

  /// `loudly`: with a signal, for a handler that may not call the platform for long.
  void ring(unsigned thread, bool loudly) {
    with(thread, [loudly](Bell& bell) {
      bell.attention->fetch_or(memory::kLook, std::memory_order_relaxed);
      if (loudly) pthread_kill(bell.thread, kAttentionSignal);
    });
  }
  /// For a thread that has been rung: sends a signal if it has not reacted yet.
  void ring_loudly_if_unheeded(unsigned thread) {
    with(thread, [](Bell& bell) {
      if ((bell.attention->load(std::memory_order_relaxed) & memory::kLook) != 0)
        pthread_kill(bell.thread, kAttentionSignal);
    });
  }

 private:
  /// Locked, so that no thread rings a thread that has ended. The lock is taken for long events
  /// only.
  struct alignas(64) Bell {
    std::mutex mutex;
    std::atomic<std::uint8_t>* attention = nullptr;
    pthread_t thread{};

    void hang(std::atomic<std::uint8_t>* of_caller) {
      const std::lock_guard lock(mutex);
      attention = of_caller;
      thread = pthread_self();
    }
  };
  template <class Action>
  void with(unsigned thread, Action&& action) {
    Bell& bell = bells_[thread];
    const std::lock_guard lock(bell.mutex);
    if (bell.attention != nullptr) action(bell);
  }

  const unsigned workers_, threads_;
  const std::unique_ptr<Running[]> running_;
  const std::unique_ptr<Bell[]> bells_;
};

}  // namespace orrery::timewarp
