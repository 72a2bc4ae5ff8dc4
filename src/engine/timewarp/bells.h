// SPDX-License-Identifier: Apache-2.0
//
// How threads call each other back from long events (run/preemption.h). A worker whose events are
// long publishes the time of the one that it handles. Who sends it something earlier *rings*: the
// attention byte of the worker's thread is set, which its handler sees the next time that it calls
// the platform, and if the event has run for a while already a signal goes there, too.
//
// All that is published here are hints, relaxed: messages and rounds are ordered by their own
// channels. A hint that is missed costs what an event costs that nobody interrupts, or, where that
// would be for ever, until the next round of GVT: it does not get on without the thread, and those
// who wait for it ring again and again (crew.h).
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

  /// What a worker publishes, a line of its own.
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

  /// Whether a worker of the thread is in an event that it knows to be long.
  bool publishes(unsigned thread) const {
    for (unsigned worker = 0; worker < workers_; ++worker)
      if (thread_of(worker) == thread &&
          running_[worker].ticks.load(std::memory_order_relaxed) != kNone)
        return true;
    return false;
  }

  /// Of the calling thread, as long as it exists.
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
  /// Once it has been rung: with a signal, if it has not looked yet.
  void ring_loudly_if_unheeded(unsigned thread) {
    with(thread, [](Bell& bell) {
      if ((bell.attention->load(std::memory_order_relaxed) & memory::kLook) != 0)
        pthread_kill(bell.thread, kAttentionSignal);
    });
  }

 private:
  /// Locked: who rings must not find a thread that has gone. Nobody rings but for a long event.
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
