// SPDX-License-Identifier: Apache-2.0
//
// Silent events: LPs that look at different times whether there is something to do, and have the
// same fingerprint since they have done the same; on every engine.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "run/engine_cases.h"

namespace orrery::testing {
namespace {

struct Look {
  static constexpr bool silent = true;
  double weight;  ///< its bytes are not compared
};
struct Note {
  static constexpr bool silent = true;
};
struct LoudLook {
  double weight;
};
struct LoudNote {};

constexpr std::int64_t kEnd = 1'000;

/// Each LP has work at random times, and does what has come whenever it looks. It looks every
/// `spacing`, by events and by timers, some of which it cancels, and lets its neighbour look, too.
template <class Looking, class Telling>
struct Lookers : Model {
  Table work{*this, "work", {{"time", ColumnType::integer}}, "what was done"};
  std::int64_t spacing = 1;

  class Lp final : public LogicalProcess<Lp, Looking, Telling> {
   public:
    explicit Lp(const Lookers& model) : model_(model) {}
    void start(Context& context) override {
      random_ = Random(context.random().next(), context.self());
      next_ = random_.integer(1, 30);
      context.schedule(context.self(), ticks(1), Looking{1.5});
      context.schedule(context.self(), ticks(kEnd - 1), Looking{2.5});
    }
    void handle(Context& context, const Looking&) {
      work(context);
      context.cancel(timer_);
      const LpId neighbour = (context.self() + 1) % context.lp_count();
      const std::byte bytes[] = {std::byte(looks_), std::byte{2}};
      context.schedule(neighbour, ticks(model_.spacing), Telling{}, bytes);
      timer_ = context.schedule_timer(ticks(1 + looks_ % 3 * model_.spacing), Telling{}, bytes);
      if (++looks_ % 2 == 0) {
        context.schedule(context.self(), ticks(model_.spacing), Looking{0.5});
      } else {
        context.schedule_timer(ticks(model_.spacing), Looking{0.5});
      }
    }
    void handle(Context& context, const Telling&, std::span<const std::byte> bytes) {
      if (bytes.size() != 2 || bytes[1] != std::byte{2}) context.fail("its bytes are lost");
      work(context);
    }

   private:
    void work(Context& context) {
      for (; next_ <= context.now().ticks(); next_ += random_.integer(1, 30))
        context.emit(model_.work, next_);
    }
    const Lookers& model_;
    Random random_;  // the platform's begins anew with each event
    std::int64_t next_ = 0;
    std::uint64_t looks_ = 0;
    Timer timer_;
  };

  std::uint64_t lp_count() const override { return 12; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override {
    return std::make_unique<Lp>(*this);
  }
  Time default_horizon() const override { return Time::from_ticks(kEnd); }
};

class SilentEvents : public OnEveryEngine {};

TEST_P(SilentEvents, AreNotInTheFingerprint) {
  std::uint64_t fingerprint = 0, committed = 0;
  for (const std::int64_t spacing : {3, 8, 21}) {
    Lookers<Look, Note> lookers;
    lookers.spacing = spacing;
    const Outcome outcome = expect_completed(lookers);
    EXPECT_NE(outcome.result.committed, std::exchange(committed, outcome.result.committed));
    if (fingerprint == 0) fingerprint = outcome.result.fingerprint;
    EXPECT_EQ(outcome.result.fingerprint, fingerprint) << "spacing " << spacing;
  }
}

TEST_P(SilentEvents, OthersAre) {
  std::uint64_t fingerprint = 0;
  for (const std::int64_t spacing : {3, 8, 21}) {
    Lookers<LoudLook, LoudNote> lookers;
    lookers.spacing = spacing;
    const Outcome outcome = expect_completed(lookers);
    EXPECT_NE(outcome.result.fingerprint, std::exchange(fingerprint, outcome.result.fingerprint));
  }
}

ORRERY_ON_EVERY_ENGINE(SilentEvents);

}  // namespace
}  // namespace orrery::testing
