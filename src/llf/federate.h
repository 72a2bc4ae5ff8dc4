// SPDX-License-Identifier: Apache-2.0
//
// One federate's part: what it tells of itself, when it gives its token away, how it sleeps. Behind
// orrery/llf.h, which says what each call promises.
//
// A federate that runs gives its token away at its safe points, if one that is ready is earlier,
// and where it waits. What it may not do is wait with a token, by looking again and again: it would
// be the earliest for ever and those it waits for would never run. That is the livelock against
// which schedulers that cannot see who waits need a threshold.
//
// Who sleeps looks for the dead every kWatchNs, and where its time is over, so that is how long a
// token can be lost.
//
// A program that knows nothing of tokens, and has them by a library between it and MPI (mpi/),
// keeps no promise: it may sleep in the system with its token, or compute for an hour. Its
// federates have patience: one that is ready, and has no token after that time, writes off those
// that run and have not come to a safe point for as long. They go on, as nobody's token, and have
// it again with their next decision. So such a program is slower at worst, and waits for nothing
// that it would not have waited for without.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "llf/schedule.h"

namespace orrery::llf {

inline constexpr std::int64_t kWatchNs = 100'000'000;
inline constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max();

/// For groups whose federates' LVT is a clock that they set at their safe points.
struct Patience {
  std::int64_t ns = kForEver;
  Time (*latest_overdue)() = nullptr;  ///< the LVT of who has come to none for that time
};

/// What there is to know after a call, in bits.
using Notice = unsigned;
inline constexpr Notice kMessage = 1, kGvt = 2, kDeath = 4, kDeadline = 8;

template <class Policy>
class Federate {
 public:
  /// `hold_ns`: how long a token is kept at safe points at least.
  Federate(Schedule<Policy> schedule, unsigned self, std::int64_t hold_ns)
      : schedule_(schedule),
        shared_(schedule_.shared()),
        slot_(schedule_.slot(self)),
        self_(self),
        hold_ns_(hold_ns) {}

  /// Takes a free slot whose life this thread has; `start` is to follow.
  void enter(std::uint32_t tokens) {
    schedule_.decide([&] {
      if (tokens > shared_.tokens.get()) shared_.tokens.set(tokens);
      const std::uint64_t news = schedule_.news();
      slot_.lvt.store(kEarliest, std::memory_order_relaxed);
      slot_.round.set(shared_.completed.get());
      slot_.told.set(told_ = deaths_in(news));
      slot_.reason.set(Reason::none);
      seen_ = round_ = shared_.completed.get();
      seen_ |= std::uint64_t{told_} << 32;
      slot_.word.fetch_or(kNothingUnread, std::memory_order_relaxed);
      schedule_.change(self_, State::free, State::ready);
    });
  }
  /// Returns with a token.
  void start() { sleep(); }
  void be_patient(Patience patience) { patience_ = patience; }
  void leave() {
    schedule_.decide([&] { schedule_.clear(self_); });
  }

  Time gvt() const { return gvt_; }
  void set_lvt(Time lvt) {
    lvt_ = lvt;
    slot_.lvt.store(lvt, std::memory_order_relaxed);
  }

  /// Three loads where there is nothing to do.
  Notice safe_point() {
    if (shared_.lowest_ready.load(std::memory_order_relaxed) >= effective_lvt() &&
        shared_.news.load(std::memory_order_relaxed) == seen_) [[likely]]
      return 0;
    return yield();
  }

  /// Whether a token that is given away now is of use to anybody.
  bool is_anybody_ready() const {
    return shared_.lowest_ready.load(std::memory_order_relaxed) != kNever;
  }

  /// Called when a message that federate `peer` can find has been left for it. False if it is gone.
  bool message_to(unsigned peer, std::uint32_t generation, Time time) {
    if (generation_of(schedule_.slot(peer)) != generation) return false;
    switch (announce(peer, time)) {
      case Announced::nobody:
        return false;
      case Announced::to_be_decided:
        conclude();
        break;
      case Announced::seen:
        break;
    }
    return true;
  }
  /// The same to several, who are woken by one decision: conclude() if any of them is to be.
  enum class Announced { nobody, seen, to_be_decided };
  Announced announce(unsigned peer, Time time) {
    auto& slot = schedule_.slot(peer);
    Word word = slot.word.load(std::memory_order_relaxed);
    for (;;) {
      if (state_of(word) == State::free) return Announced::nobody;
      const Word lowered = time < unread_of(word) ? word_of(time, state_of(word)) : word;
      // Also where nothing changes: it is what makes the message seen by a peer that resets its
      // word afterwards.
      Word found = word;
      if (slot.word.compare_exchange_strong(found, lowered, std::memory_order_release)) {
        const State state = state_of(word);
        return lowered != word && (state == State::waiting || state == State::ready)
                   ? Announced::to_be_decided
                   : Announced::seen;
      }
      word = found;
    }
  }
  void conclude() {
    schedule_.decide([] {});
  }
  /// To tell `peer` from those that had its slot before.
  std::uint32_t generation_of(unsigned peer) { return generation_of(schedule_.slot(peer)); }
  /// Called before the federate looks for messages: those that it does not find then are announced
  /// anew. Returns the time of the earliest that was announced.
  Time reading_messages() {
    return unread_of(slot_.word.fetch_or(kNothingUnread, std::memory_order_acquire));
  }

  /// Without a token until there is an unread message, a round of GVT, a death, or `timeout_ns` is
  /// over.
  Notice wait(std::int64_t timeout_ns) {
    if (const Notice notice = told()) return notice;
    const std::int64_t end = end_of(timeout_ns);
    bool waits = false;
    schedule_.decide([&] {
      slot_.told.set(told_);
      if (mine() == State::aside) schedule_.change(self_, State::aside, State::running);
      Word nothing = word_of(kNever, State::running);
      waits = slot_.word.compare_exchange_strong(nothing, word_of(kNever, State::waiting),
                                                 std::memory_order_relaxed);
    });
    if (waits) sleep(State::waiting, end);
    const Notice notice = told() | (waits && !has_unread() ? 0 : kMessage);
    return notice != 0 ? notice : kDeadline;
  }

  /// Without a token until `resume`: for calls that block in the system.
  void pause() {
    step_aside([] { return Reason::paused; });
  }
  void resume() {
    schedule_.decide([&] { schedule_.change(self_, State::aside, State::ready); });
    sleep();
  }
  /// Until `federates` are in the group. False if they are not after `timeout_ns`.
  bool meet(std::uint16_t federates, std::int64_t timeout_ns) {
    const std::int64_t end = end_of(timeout_ns);
    step_aside([&] {
      slot_.needed.set(federates);
      return Reason::meeting;
    });
    return sleep(State::aside, end);
  }

  /// What all reported to one round of GVT.
  struct Round {
    Time gvt;
    std::int64_t balance;
    Notice notice;
  };
  /// Joins the round that has begun, or begins one.
  Round join_round(Time lowest, std::int64_t balance) {
    step_aside([&] {
      if (rounds_in(schedule_.news()) == shared_.completed.get()) schedule_.open_round();
      slot_.lowest.set(lowest);
      slot_.balance.set(balance);
      round_ = rounds_in(schedule_.news());
      slot_.round.set(round_);
      return Reason::gvt;
    });
    sleep();
    // Written under the lock before this federate was made to run, and not again before it joins
    // the next round.
    const Round result{shared_.gvt.get(), shared_.balance.get(), told()};
    if (result.balance == 0) gvt_ = std::max(gvt_, result.gvt);
    return result;
  }

  /// Which slot has died last; for whoever was told of a death.
  unsigned last_dead() {
    unsigned slot = 0;
    schedule_.decide([&] { slot = shared_.last_dead.get(); });
    return slot;
  }

 private:
  static std::uint32_t generation_of(const Slot<Policy>& slot) {
    return slot.generation.load(std::memory_order_relaxed) & kGenerationMask;
  }
  Time effective_lvt() const {
    return std::min(lvt_, unread_of(slot_.word.load(std::memory_order_relaxed)));
  }
  bool has_unread() const {
    return unread_of(slot_.word.load(std::memory_order_relaxed)) != kNever;
  }

  /// What is new: of a round of GVT until it is joined, of a death once.
  Notice told() {
    const std::uint64_t news = shared_.news.load(std::memory_order_relaxed);
    Notice notice = 0;
    if (rounds_in(news) != round_) notice |= kGvt;
    if (deaths_in(news) != told_) notice |= kDeath;
    told_ = deaths_in(news);
    seen_ = std::uint64_t{told_} << 32 | round_;
    return notice;
  }

  [[gnu::noinline]] Notice yield() {
    if (shared_.lowest_ready.load(std::memory_order_relaxed) < effective_lvt() &&
        Policy::now() >= held_until_) {
      schedule_.decide([&] { schedule_.change(self_, mine(), State::ready); });
      sleep();
    }
    return told();
  }

  template <class Prepare>
  void step_aside(Prepare&& prepare) {
    schedule_.decide([&] {
      slot_.reason.set(prepare());
      schedule_.change(self_, mine(), State::aside);
    });
  }

  bool is_patient() const { return patience_.latest_overdue != nullptr; }
  /// While it thinks that it runs: that, or aside, if others have written it off, or ready, if it
  /// has never been started. Under the lock.
  State mine() const { return is_patient() ? state_of(schedule_.word(self_)) : State::running; }

  static std::int64_t end_of(std::int64_t timeout_ns) {
    if (timeout_ns == kForEver) return kForEver;
    const std::int64_t now = Policy::now();
    return timeout_ns < kForEver - now ? now + timeout_ns : kForEver;
  }

  void sleep() { sleep(State::free, kForEver); }
  /// Until this federate has a token. At `end` it stops being `from` and wants one: false.
  bool sleep(State from, std::int64_t end) {
    bool in_time = true;
    const std::int64_t watch = std::min(kWatchNs, patience_.ns);
    for (;;) {
      const std::uint32_t bell = slot_.bell.load(std::memory_order_acquire);
      const State state = state_of(slot_.word.load(std::memory_order_acquire));
      if (state == State::running) break;
      // It has had a token, and was written off before it woke.
      if (is_patient() && state == State::aside) break;
      const std::int64_t left = end == kForEver ? kForEver : end - Policy::now();
      if (left <= 0) {
        schedule_.decide(
            [&] {
              if (state_of(schedule_.word(self_)) != from) return;
              schedule_.change(self_, from, State::ready);
              in_time = false;
            },
            true);
        end = kForEver;
      } else if (!Policy::wait(slot_.bell, bell, std::min(left, watch)) && left > watch) {
        schedule_.decide([&] { write_off_the_overdue(); }, true);
      }
    }
    if (hold_ns_ > 0) held_until_ = Policy::now() + hold_ns_;
    return in_time;
  }
  void write_off_the_overdue() {
    if (!is_patient() || mine() != State::ready) return;
    const Time overdue = patience_.latest_overdue();
    for (unsigned i = 0; i < schedule_.count(); ++i) {
      auto& slot = schedule_.slot(i);
      if (state_of(schedule_.word(i)) != State::running ||
          slot.lvt.load(std::memory_order_relaxed) > overdue)
        continue;
      slot.reason.set(Reason::paused);
      schedule_.change(i, State::running, State::aside);
    }
  }

  Schedule<Policy> schedule_;
  Shared<Policy>& shared_;
  Slot<Policy>& slot_;
  const unsigned self_;
  const std::int64_t hold_ns_;
  Patience patience_;
  // What only this federate writes, or has seen: its own copies.
  Time lvt_ = kEarliest, gvt_ = kEarliest;
  std::uint64_t seen_ = 0;   ///< of the news, nothing is to be said of these
  std::uint32_t round_ = 0;  ///< of GVT, the last it has joined
  std::uint32_t told_ = 0;   ///< deaths that it has been told of
  std::int64_t held_until_ = 0;
};

}  // namespace orrery::llf
