// SPDX-License-Identifier: Apache-2.0
//
// Decides which federates run. A federate with a reason for a decision makes it under the group's
// lock, and each decision follows the same rule (`settle`). Waiting federates that have got what
// they wait for become ready. As long as a token is free, the ready federate with the least
// effective LVT gets it (the lower of its LVT and its earliest unread message; of equals, the one
// that is ready longest). A token is the state `running`: there is no counter of free tokens that
// could be wrong.
//
// Why a lock and no lock-free algorithm: a decision reads all federates, so it would have to be
// repeated whenever one of them changes, and it would have to assign tokens in one word, which
// limits a group to 64 federates. The lock is taken only when a federate goes to sleep or is woken,
// which costs a hundred times as much.
//
// A federate may die anywhere, also with the lock. So `settle` reads nothing that an interrupted
// decision may have left incomplete: it derives everything from the words, and each change under
// the lock takes effect with one store, its last. The next decision does the work that an
// interrupted one has left (a free token, a bell that was not rung, an old hint). A next decision
// always comes, since sleeping federates look for the dead from time to time (federate.h).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "llf/slot.h"

namespace orrery::llf {

/// The federates whose bells are to be rung.
class Rings {
 public:
  void add(unsigned slot) { words_[slot / 64] |= std::uint64_t{1} << slot % 64; }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (unsigned i = 0; i < kMostSlots / 64; ++i)
      for (std::uint64_t left = words_[i]; left != 0; left &= left - 1)
        visit(i * 64 + static_cast<unsigned>(__builtin_ctzll(left)));
  }

 private:
  std::uint64_t words_[kMostSlots / 64] = {};
};

template <class Policy>
class Schedule {
 public:
  using Slot = llf::Slot<Policy>;

  Schedule(Shared<Policy>& shared, Slot* slots, typename Policy::Life* lives, unsigned count)
      : shared_(shared), slots_(slots), lives_(lives), count_(count) {}

  Shared<Policy>& shared() const { return shared_; }
  Slot& slot(unsigned index) const { return slots_[index]; }
  unsigned count() const { return count_; }

  /// Takes the lock, runs `body()`, settles, and rings bells. With `look`, it first looks for the
  /// dead.
  template <class Body>
  void decide(Body&& body, bool look = false) {
    Rings rings;
    const bool orphaned = shared_.lock.lock();
    if (orphaned || look) bury(rings, orphaned);
    body();
    settle(rings);
    shared_.lock.unlock();
    // Without the lock, since the woken federates may take it.
    rings.for_each([this](unsigned i) {
      slots_[i].bell.fetch_add(1, std::memory_order_release);
      Policy::wake(slots_[i].bell);
    });
  }
  void look_for_the_dead() {
    decide([] {}, true);
  }

  // Call the following only with the lock.

  Word word(unsigned i) const { return slots_[i].word.load(std::memory_order_relaxed); }
  void change(unsigned i, State from, State to) {
    if (to == State::ready) {
      slots_[i].ticket.set(shared_.tickets.get());
      shared_.tickets.set(shared_.tickets.get() + 1);
    }
    slots_[i].word.fetch_add(step_between(from, to), std::memory_order_release);
  }
  /// Frees the slot.
  void clear(unsigned i) {
    Slot& slot = slots_[i];
    slot.generation.fetch_add(1, std::memory_order_relaxed);
    // Senders do not change the word of a free slot, so no change comes between the next two.
    slot.word.fetch_and(~kStateMask, std::memory_order_relaxed);
    slot.word.fetch_or(kNothingUnread, std::memory_order_relaxed);
  }
  std::uint64_t news() const { return shared_.news.load(std::memory_order_relaxed); }
  void open_round() { shared_.news.store(news() + 1, std::memory_order_relaxed); }

 private:
  Time effective_lvt(unsigned i, Word word) const {
    return std::min(slots_[i].lvt.load(std::memory_order_relaxed), unread_of(word));
  }

  /// Frees the slots of the dead. If there are any, or if a federate died with the lock
  /// (`orphaned`), some bells may not have been rung, so the bells of all running federates are
  /// rung.
  void bury(Rings& rings, bool orphaned) {
    bool any = orphaned;
    for (unsigned i = 0; i < count_; ++i) {
      if (state_of(word(i)) == State::free || !lives_[i].take_if_dead()) continue;
      clear(i);
      shared_.last_dead.set(i);
      shared_.news.store(news() + (std::uint64_t{1} << 32), std::memory_order_relaxed);
      any = true;
    }
    if (!any) return;
    for (unsigned i = 0; i < count_; ++i)
      if (state_of(word(i)) == State::running) rings.add(i);
  }

  void settle(Rings& rings) {
    complete_round();
    unsigned members = 0, running = 0;
    for (unsigned i = 0; i < count_; ++i) {
      const State state = state_of(word(i));
      if (state != State::free) ++members;
      if (state == State::running) ++running;
    }
    for (unsigned i = 0; i < count_; ++i) {
      const Word now = word(i);
      if (has_what_it_waits_for(i, now, members)) change(i, state_of(now), State::ready);
    }
    hand_out(running, rings);
  }

  bool has_what_it_waits_for(unsigned i, Word now, unsigned members) const {
    const Slot& slot = slots_[i];
    if (state_of(now) == State::waiting) {
      const std::uint32_t begun = rounds_in(news());
      return unread_of(now) != kNever || slot.told.get() != deaths_in(news()) ||
             (begun != shared_.completed.get() && slot.round.get() != begun);
    }
    if (state_of(now) != State::aside) return false;
    if (slot.reason.get() == Reason::gvt) return slot.round.get() == shared_.completed.get();
    return slot.reason.get() == Reason::meeting && members >= slot.needed.get();
  }

  void hand_out(unsigned running, Rings& rings) {
    const unsigned tokens = shared_.tokens.get();
    for (;;) {
      unsigned first = count_;
      Time lowest = kNever;
      for (unsigned i = 0; i < count_; ++i) {
        const Word now = word(i);
        if (state_of(now) != State::ready) continue;
        const Time lvt = effective_lvt(i, now);
        const bool earlier = first == count_ || lvt < lowest ||
                             (lvt == lowest && slots_[i].ticket.get() < slots_[first].ticket.get());
        if (!earlier) continue;
        first = i;
        lowest = lvt;
      }
      if (first == count_ || running >= tokens) {
        if (shared_.lowest_ready.load(std::memory_order_relaxed) != lowest)
          shared_.lowest_ready.store(lowest, std::memory_order_relaxed);
        return;
      }
      change(first, State::ready, State::running);
      rings.add(first);
      ++running;
    }
  }

  /// Completes a round of GVT if all federates of the group have joined it.
  void complete_round() {
    const std::uint32_t begun = rounds_in(news());
    if (begun == shared_.completed.get()) return;
    Time lowest = kNever;
    std::int64_t balance = 0;
    for (unsigned i = 0; i < count_; ++i) {
      if (state_of(word(i)) == State::free) continue;
      if (slots_[i].round.get() != begun) return;
      lowest = std::min(lowest, slots_[i].lowest.get());
      balance += slots_[i].balance.get();
    }
    shared_.gvt.set(lowest);
    shared_.balance.set(balance);
    shared_.completed.set(begun);
  }

  Shared<Policy>& shared_;
  Slot* const slots_;
  typename Policy::Life* const lives_;
  const unsigned count_;
};

}  // namespace orrery::llf
