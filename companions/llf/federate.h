// SPDX-License-Identifier: Apache-2.0
//
// One federate: what it reports, when it gives its token away, how it sleeps. This class implements
// orrery/llf.h, which documents each call.
//
// A running federate gives its token away at a safe point, if a ready federate is earlier, and when
// it waits. A federate must not wait with a token by polling: it would stay the earliest for ever,
// and the federates that it waits for would never run. This is the livelock against which
// schedulers that cannot see waiting need a threshold.
//
// A sleeping federate looks for dead federates every kWatchNs, and at its deadline. So a token can
// be lost for at most kWatchNs.
//
// A program without knowledge of tokens, which gets them from a library between it and MPI (mpi/),
// may break the rules: it may sleep in the system with its token, or compute for an hour. Federates
// of such programs have patience. A ready federate that gets no token during that time writes off
// those that run and have come to no safe point for as long. These go on without a token, and get
// one again after their next decision. So such a program is slower at worst, but never waits for
// something for which it would not wait without the library.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "llf/schedule.h"

namespace orrery::llf {

inline constexpr std::int64_t kWatchNs = 100'000'000;
inline constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max();

/// For groups whose federates set their LVT to a clock at their safe points.
struct OverdueLimit {
  std::int64_t ns = kForEver;
  Time (*latest_overdue)() = nullptr;  ///< a running federate with this LVT or less is overdue
};

/// The news that a call returns, in bits.
using Notice = unsigned;
inline constexpr Notice kMessage = 1, kGvt = 2, kDeath = 4, kDeadline = 8;

template <class Policy>
class Federate {
 public:
  /// `hold_ns`: least time for which a token is kept at safe points.
  Federate(Schedule<Policy> schedule, unsigned self, std::int64_t hold_ns)
      : schedule_(schedule),
        shared_(schedule_.shared()),
        slot_(schedule_.slot(self)),
        self_(self),
        hold_ns_(hold_ns) {}

  /// Takes a free slot whose Life this thread has locked. Call `start` next. `tokens()` is the
  /// group's number of tokens from now on, computed under the lock, with this federate in it.
  template <class Count>
  void enter(Count&& tokens) {
    schedule_.decide([&] {
      const std::uint64_t news = schedule_.news();
      slot_.lvt.store(kEarliest, std::memory_order_relaxed);
      slot_.round.set(shared_.completed.get());
      slot_.told.set(told_ = deaths_in(news));
      slot_.reason.set(Reason::none);
      seen_ = round_ = shared_.completed.get();
      seen_ |= std::uint64_t{told_} << 32;
      slot_.word.fetch_or(kNothingUnread, std::memory_order_relaxed);
      schedule_.change(self_, State::free, State::ready);
      shared_.tokens.set(tokens());
    });
  }
  /// The group's number of tokens from now on. Ready federates get further ones at once; if there
  /// are fewer, federates that give way get none back until no more run than there are tokens.
  template <class Count>
  void set_tokens(Count&& tokens) {
    schedule_.decide([&] { shared_.tokens.set(tokens()); });
  }
  /// Returns with a token.
  void start() { sleep(); }
  void set_overdue_limit(OverdueLimit limit) { overdue_limit_ = limit; }
  void leave() {
    schedule_.decide([&] { schedule_.clear(self_); });
  }

  Time gvt() const { return gvt_; }
  void set_lvt(Time lvt) {
    lvt_ = lvt;
    slot_.lvt.store(lvt, std::memory_order_relaxed);
  }

  /// Three relaxed loads if there is nothing to do.
  Notice safe_point() {
    if (shared_.lowest_ready.load(std::memory_order_relaxed) >= effective_lvt() &&
        shared_.news.load(std::memory_order_relaxed) == seen_) [[likely]]
      return 0;
    return yield();
  }

  /// Whether any federate is ready, so that a token given away now is used.
  bool is_anybody_ready() const {
    return shared_.lowest_ready.load(std::memory_order_relaxed) != kNever;
  }

  /// Announces a message that federate `peer` can find already. False if that federate has left.
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
  /// The same for several receivers, which one decision wakes. Call conclude() if any call returns
  /// to_be_decided.
  enum class Announced { nobody, seen, to_be_decided };
  Announced announce(unsigned peer, Time time) {
    auto& slot = schedule_.slot(peer);
    Word word = slot.word.load(std::memory_order_relaxed);
    for (;;) {
      if (state_of(word) == State::free) return Announced::nobody;
      const Word lowered = time < unread_of(word) ? word_of(time, state_of(word)) : word;
      // Also if the word does not change: this release lets the peer see the message when it resets
      // its word later.
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
  /// Distinguishes `peer` from earlier federates in its slot.
  std::uint32_t generation_of(unsigned peer) { return generation_of(schedule_.slot(peer)); }
  /// Call it before looking for messages: messages that are not found then will be announced again.
  /// Returns the time of the earliest announced message.
  Time reading_messages() {
    return unread_of(slot_.word.fetch_or(kNothingUnread, std::memory_order_acquire));
  }

  /// Gives the token away until there is an unread message, a round of GVT, a death, or
  /// `timeout_ns` has passed.
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

  /// Gives the token away until `resume`, for calls that block in the system.
  void pause() {
    step_aside([] { return Reason::paused; });
  }
  void resume() {
    schedule_.decide([&] { schedule_.change(self_, State::aside, State::ready); });
    sleep();
  }
  /// Gives the token away until `federates` are in the group. False if they are not after
  /// `timeout_ns`.
  bool meet(std::uint16_t federates, std::int64_t timeout_ns) {
    const std::int64_t end = end_of(timeout_ns);
    step_aside([&] {
      slot_.needed.set(federates);
      return Reason::meeting;
    });
    return sleep(State::aside, end);
  }

  /// The result of one round of GVT.
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
    // The lock holder wrote these before it made this federate run, and they stay until this
    // federate joins the next round.
    const Round result{shared_.gvt.get(), shared_.balance.get(), told()};
    if (result.balance == 0) gvt_ = std::max(gvt_, result.gvt);
    return result;
  }

  /// The slot of the federate that died last, after a notice of a death.
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

  /// Reports a round of GVT until it is joined, and a death once.
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

  bool has_overdue_limit() const { return overdue_limit_.latest_overdue != nullptr; }
  /// The state of a federate that believes that it runs: running, aside if others have written it
  /// off, or ready if it was never started. Call it under the lock.
  State mine() const {
    return has_overdue_limit() ? state_of(schedule_.word(self_)) : State::running;
  }

  static std::int64_t end_of(std::int64_t timeout_ns) {
    if (timeout_ns == kForEver) return kForEver;
    const std::int64_t now = Policy::now();
    return timeout_ns < kForEver - now ? now + timeout_ns : kForEver;
  }

  void sleep() { sleep(State::free, kForEver); }
  /// Sleeps until this federate has a token. If it is still in state `from` at `end`, it becomes
  /// ready, and the result is false.
  bool sleep(State from, std::int64_t end) {
    bool in_time = true;
    const std::int64_t watch = std::min(kWatchNs, overdue_limit_.ns);
    for (;;) {
      const std::uint32_t bell = slot_.bell.load(std::memory_order_acquire);
      const State state = state_of(slot_.word.load(std::memory_order_acquire));
      if (state == State::running) break;
      // The federate has had a token, and was written off before it woke.
      if (has_overdue_limit() && state == State::aside) break;
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
    if (!has_overdue_limit() || mine() != State::ready) return;
    const Time overdue = overdue_limit_.latest_overdue();
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
  OverdueLimit overdue_limit_;
  // Copies of values that only this federate writes, or that it has read.
  Time lvt_ = kEarliest, gvt_ = kEarliest;
  std::uint64_t seen_ = 0;   ///< the news that are reported
  std::uint32_t round_ = 0;  ///< the last round of GVT that it has joined
  std::uint32_t told_ = 0;   ///< deaths that were reported
  std::int64_t held_until_ = 0;
};

}  // namespace orrery::llf
