// SPDX-License-Identifier: Apache-2.0
//
// Least-LVT-first scheduling (companions/llf) in all schedules of small cases: no more federates run than
// there are tokens, no wake-up and no token is lost (a run in which all sleep is a deadlock, which
// the explorer reports), and rounds of GVT end with the lowest report; also with a death before any
// step of any federate. Planted errors are found.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <string>

#include "explore/explore_support.h"
#include "explore/llf_policy.h"
#include "llf/federate.h"

namespace orrery::explore {
namespace {

using llf::kDeath;
using llf::kForEver;
using llf::kGvt;
using llf::Time;

Fate fate;

/// What a federate could do wrong.
enum class Broken { nothing, announces_first, reads_first, waits_with_token };

template <unsigned kFederates, unsigned kTokens>
class Group : public Scenario {
 public:
  using Policy = MortalPolicy<kFederates>;
  using Federate = llf::Federate<Policy>;

  Group() : mortals_(fate) {
    Policy::lives = lives_.data();
    for (unsigned i = 0; i < kFederates; ++i)
      federates_.emplace_back(
          llf::Schedule<Policy>(shared_, slots_.data(), lives_.data(), kFederates), i, 0);
    for (Federate& federate : federates_) federate.enter([] { return kTokens; });
  }
  static std::string kind_of(unsigned number) {
    if (number < 3) return number == 0 ? "lowest_ready" : number == 1 ? "news" : "lock";
    if (number < 3 + 4 * kFederates)
      return std::array{"word", "lvt", "bell", "generation"}[(number - 3) % 4];
    return number < 3 + 5 * kFederates ? "life" : "inbox";
  }
  std::string atomic_name(unsigned number) const override {
    return kind_of(number) + " (" + std::to_string(number) + ")";
  }
  void run(unsigned thread) override {
    try {
      federates_[thread].start();
      live(thread);
      federates_[thread].leave();
    } catch (const Died&) {
      shared_.lock.note_death(thread);
      lives_[thread].note_death();
    }
    ++ended_;
  }
  void finish() override {
    require(ended_ == kFederates, "a federate did not end");
    for (unsigned i = 0; i < kFederates; ++i)
      require(fate.reached ||
                  llf::state_of(slots_[i].word.load(std::memory_order_relaxed)) == llf::State::free,
              "a slot is still taken");
  }

 protected:
  virtual void live(unsigned self) = 0;

  Federate& federate(unsigned i) { return federates_[i]; }
  /// What a federate does with a token.
  void work() {
    require(++at_work_ <= kTokens, "more federates run than there are tokens");
    try {
      place_.fetch_add(1, std::memory_order_relaxed);  // others may go on here
    } catch (const Died&) {
      --at_work_;
      throw;
    }
    --at_work_;
  }
  /// Leaves message number `count` for a federate that has no other sender.
  void send(unsigned self, unsigned to, unsigned count, Time time, bool announce_first = false) {
    if (announce_first) federate(self).message_to(to, 0, time);
    inboxes_[to].store(count, std::memory_order_relaxed);
    if (!announce_first) federate(self).message_to(to, 0, time);
  }
  /// Waits for that message. False if somebody has died.
  bool receive(unsigned self, unsigned count, Broken broken = Broken::nothing) {
    for (;;) {
      if (broken != Broken::reads_first) federate(self).reading_messages();
      const bool found = inboxes_[self].load(std::memory_order_relaxed) >= count;
      if (broken == Broken::reads_first) federate(self).reading_messages();
      if (found) return true;
      if (broken == Broken::waits_with_token) {
        wait_for_change();
        continue;
      }
      if ((federate(self).wait(kForEver) & kDeath) != 0) return false;
    }
  }

 private:
  Mortals mortals_;
  llf::Shared<Policy> shared_;
  std::array<llf::Slot<Policy>, kFederates> slots_;
  std::array<MortalLife, kFederates> lives_;
  std::array<MortalAtomic<std::uint32_t>, kFederates> inboxes_{};
  MortalAtomic<std::uint32_t> place_{0};
  std::deque<Federate> federates_;
  unsigned at_work_ = 0, ended_ = 0;
};

/// A message goes round. Who has it executes an event.
template <unsigned kFederates, unsigned kTokens, Broken kBroken = Broken::nothing>
class Circle : public Group<kFederates, kTokens> {
  void live(unsigned self) override {
    const unsigned next = (self + 1) % kFederates;
    const Time time = static_cast<Time>(self) + 1;
    if (self != 0 && !this->receive(self, 1, kBroken)) return;
    this->federate(self).set_lvt(time);
    this->work();
    this->send(self, next, 1, time + 1, kBroken == Broken::announces_first);
    if (self == 0) this->receive(self, 1, kBroken);
  }
};

/// Everybody executes events of its own, in another order than that of the federates.
template <unsigned kFederates, unsigned kTokens>
class Alone : public Group<kFederates, kTokens> {
  void live(unsigned self) override {
    for (Time event = 0; event < 2; ++event) {
      this->federate(self).set_lvt(event * kFederates + (kFederates - self));
      this->federate(self).safe_point();
      this->work();
    }
  }
};

/// The last wants to know GVT; the first has an event, the others wait for messages. All come.
template <unsigned kFederates, unsigned kTokens>
class Round : public Group<kFederates, kTokens> {
  static constexpr unsigned kLast = kFederates - 1;

  void live(unsigned self) override {
    auto& federate = this->federate(self);
    const Time lowest = 10 - static_cast<Time>(self);
    federate.set_lvt(lowest);
    if (self == 0) {
      this->work();
      federate.set_lvt(20);  // later than the last, which gets a token if it has none
    }
    while (self != kLast) {
      const llf::Notice notice = self == 0 ? federate.safe_point() : federate.wait(kForEver);
      if ((notice & kGvt) != 0) break;
      if ((notice & kDeath) != 0) return;
      if (self == 0) wait_for_change();
    }
    const auto round = federate.join_round(lowest, 1);
    if (fate.thread != Fate::kNobody) return;
    require(round.gvt == 10 - static_cast<Time>(kLast), "GVT is not the lowest report");
    require(round.balance == kFederates, "the balance is not the sum");
    require(federate.gvt() == llf::kEarliest,
            "what is said while messages are on their way counts");
  }
};

class ExploredLlf : public ::testing::Test {
 protected:
  void SetUp() override { fate = {}; }
};

TEST_F(ExploredLlf, LosesNoWakeUpAndNoToken) {
  expect_holds("two in a circle, one token", {.deviations = affordable(3)}, make<Circle<2, 1>>());
  expect_holds("two in a circle, two tokens", {.deviations = affordable(3)}, make<Circle<2, 2>>());
  expect_holds("three in a circle, one token", {.threads = 3, .deviations = affordable(2)},
               make<Circle<3, 1>>());
  expect_holds("three in a circle, two tokens", {.threads = 3, .deviations = affordable(2)},
               make<Circle<3, 2>>());
}

TEST_F(ExploredLlf, RunsNoMoreThanThereAreTokens) {
  expect_holds("two alone", {.deviations = affordable(3)}, make<Alone<2, 1>>());
  expect_holds("three alone, one token", {.threads = 3, .deviations = affordable(2)},
               make<Alone<3, 1>>());
  expect_holds("three alone, two tokens", {.threads = 3, .deviations = affordable(2)},
               make<Alone<3, 2>>());
}

TEST_F(ExploredLlf, PullsAllIntoARound) {
  expect_holds("a round of two, one token", {.deviations = affordable(3)}, make<Round<2, 1>>());
  expect_holds("a round of three, two tokens", {.threads = 3, .deviations = affordable(2)},
               make<Round<3, 2>>());
}

/// Each federate dies before each of its steps, as many as it takes when nothing deviates.
template <class S>
void expect_survivors_end(const std::string& name, unsigned threads) {
  std::uint64_t schedules = 0;
  unsigned deaths = 0;
  for (unsigned thread = 0; thread < threads; ++thread) {
    for (unsigned step = 0;; ++step, ++deaths) {
      fate = {thread, step, false};
      const Outcome outcome = explore({.threads = threads, .deviations = 1}, make<S>());
      schedules += outcome.schedules;
      ASSERT_FALSE(outcome.failure.has_value())
          << name << ", thread " << thread << " dies before step " << step << ": "
          << outcome.failure->text();
      if (!fate.reached) break;
    }
  }
  std::printf("[ explored ] %s: %u deaths, %llu schedules\n", name.c_str(), deaths,
              static_cast<unsigned long long>(schedules));
  EXPECT_GT(deaths, 100u);
}

TEST_F(ExploredLlf, LosesNothingToTheDead) {
  expect_survivors_end<Circle<2, 1>>("two in a circle, one token", 2);
  expect_survivors_end<Circle<3, 2>>("three in a circle, two tokens", 3);
  expect_survivors_end<Alone<3, 1>>("three alone, one token", 3);
  expect_survivors_end<Round<3, 1>>("a round of three, one token", 3);
}

/// Makes operations of one kind on one kind of atomic do something else.
Mutation instead(const std::string& atomic, Operation::Kind kind, std::uint64_t operand) {
  return [=](Operation& operation) {
    if (Group<3, 1>::kind_of(operation.atomic) == atomic && operation.kind == kind)
      operation.operand = operand;
  };
}

TEST_F(ExploredLlf, ShowsPlantedErrors) {
  const Options three{.threads = 3, .deviations = 2};
  const std::string deadlock = "nobody makes";
  expect_found("a message is announced before it is there", {},
               make<Circle<2, 2, Broken::announces_first>>(), deadlock);
  expect_found("messages are looked for, then called read", {},
               make<Circle<2, 2, Broken::reads_first>>(), deadlock);
  expect_found("a federate waits with its token", {},
               make<Circle<2, 1, Broken::waits_with_token>>(), deadlock);
  expect_found("bells are not rung", three, make<Circle<3, 1>>(), deadlock,
               instead("bell", Operation::Kind::fetch_add, 0));
  expect_found("a round is not made known", three, make<Round<3, 1>>(), "",
               instead("news", Operation::Kind::store, 0));
  // The first looks again and again.
  expect_found("nobody is told that somebody earlier is ready", three, make<Round<3, 1>>(),
               "no end", instead("lowest_ready", Operation::Kind::store, llf::kNever));
  expect_found("the lock is not taken", three, make<Alone<3, 2>>(), "",
               instead("lock", Operation::Kind::compare_exchange, 100));
}

TEST_F(ExploredLlf, NeedsItsOrders) {
  // Of the lock, of bells, and of the word that hands over tokens.
  EXPECT_EQ((expect_orders_needed<Round<2, 2>>("a round of two", {.deviations = 2})), 6u);
  // Of the word that hands over messages.
  for (const auto kind : {Operation::Kind::compare_exchange, Operation::Kind::fetch_or})
    expect_found("two in a circle, relaxed: word " + name_of(kind), {.deviations = 2},
                 make<Circle<2, 2>>(), "no end", [kind](Operation& operation) {
                   if (Circle<2, 2>::kind_of(operation.atomic) == "word" && operation.kind == kind)
                     operation.order = std::memory_order_relaxed;
                 });
}

}  // namespace
}  // namespace orrery::explore
