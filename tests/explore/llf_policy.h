// SPDX-License-Identifier: Apache-2.0
//
// The policy that companions/llf gets in scenarios: its lock, lives and sleep as the system offers them,
// on explored atomics, and a death before any step that a thread takes. What the kernel does for
// the dead is done here: it marks the lock that the thread had, then its life.
#pragma once

#include <array>
#include <cstdint>

#include "explore/atomics.h"
#include "explore/cell.h"
#include "explore/explorer.h"

namespace orrery::explore {

/// Which thread dies, and before which of its steps. Set for all runs of an exploration.
struct Fate {
  static constexpr unsigned kNobody = ~0u;
  unsigned thread = kNobody;
  unsigned step = 0;

  bool reached = false;  ///< in some run
};

struct Died {};

/// Of one run of a scenario.
class Mortals {
 public:
  explicit Mortals(Fate& fate) : fate_(fate) { active = this; }
  static inline Mortals* active = nullptr;

  /// Whether a thread that sleeps after a death hears its clock: a few times only, or a run would
  /// not end.
  bool hears_clock() { return clocks_[Execution::active().running()]++ < 3; }

  /// A thread that is to die here does.
  void step() {
    if (Execution::active().running() != fate_.thread || dead_ || steps_++ != fate_.step) return;
    dead_ = fate_.reached = true;
    throw Died();
  }

 private:
  Fate& fate_;
  std::array<unsigned, kMostThreads + 1> clocks_{};
  unsigned steps_ = 0;
  bool dead_ = false;
};

inline void step() {
  Mortals::active->step();
}
inline unsigned this_thread() {
  return Execution::active().running();
}

template <class T>
class MortalAtomic {
 public:
  MortalAtomic(T initial = {}) : atomic_(initial) {}
  T load(std::memory_order order) const { return step(), atomic_.load(order); }
  void store(T value, std::memory_order order) { step(), atomic_.store(value, order); }
  T fetch_add(T operand, std::memory_order order) {
    return step(), atomic_.fetch_add(operand, order);
  }
  T fetch_or(T operand, std::memory_order order) {
    return step(), atomic_.fetch_or(operand, order);
  }
  T fetch_and(T operand, std::memory_order order) {
    return step(), atomic_.fetch_and(operand, order);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order order) {
    return step(), atomic_.compare_exchange_strong(expected, desired, order);
  }

 private:
  Atomic<T> atomic_;
};

class MortalLock {
 public:
  bool lock() {
    for (;;) {
      std::uint32_t found = kFree;
      if (word_.compare_exchange_strong(found, this_thread(), std::memory_order_acq_rel))
        return false;
      if (found == kOrphan &&
          word_.compare_exchange_strong(found, this_thread(), std::memory_order_acq_rel))
        return true;
      wait_for_change();
    }
  }
  void unlock() { word_.store(kFree, std::memory_order_release); }
  void note_death(unsigned thread) {
    std::uint32_t owner = thread;
    word_.compare_exchange_strong(owner, kOrphan, std::memory_order_acq_rel);
  }

 private:
  static constexpr std::uint32_t kFree = 100, kOrphan = 101;
  MortalAtomic<std::uint32_t> word_{kFree};
};

class MortalLife {
 public:
  bool take_if_dead() {
    std::uint32_t found = kDead;
    return word_.compare_exchange_strong(found, kTaken, std::memory_order_acq_rel);
  }
  bool is_dead() { return word_.fetch_or(0, std::memory_order_relaxed) != kAlive; }
  void note_death() { word_.store(kDead, std::memory_order_release); }

 private:
  static constexpr std::uint32_t kAlive = 0, kDead = 1, kTaken = 2;
  MortalAtomic<std::uint32_t> word_{kAlive};
};

/// kLives: where the scenario keeps them, which whoever sleeps looks at from time to time.
template <unsigned kFederates>
struct MortalPolicy {
  template <class T>
  using atomic = MortalAtomic<T>;
  template <class T>
  class Guarded {
   public:
    Guarded(T value) : cell_(value) {}
    T get() const { return cell_.get(); }
    void set(T value) { step(), cell_.set(value); }

   private:
    Cell<T> cell_;
  };
  using Lock = MortalLock;
  using Life = MortalLife;

  static inline Life* lives = nullptr;

  /// Time passes only where somebody has died: otherwise nothing may depend on it, and a run in
  /// which it does is a deadlock.
  static bool wait(atomic<std::uint32_t>& bell, std::uint32_t seen, std::int64_t) {
    for (;;) {
      if (bell.fetch_or(0, std::memory_order_relaxed) != seen) return true;
      for (unsigned i = 0; i < kFederates; ++i)
        if (lives[i].is_dead() && Mortals::active->hears_clock()) return false;
      wait_for_change();
    }
  }
  static void wake(atomic<std::uint32_t>&) {}
  static std::int64_t now() { return 0; }
};

}  // namespace orrery::explore
