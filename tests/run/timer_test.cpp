// SPDX-License-Identifier: Apache-2.0
//
// Timers on every engine: random programs that set, keep, hand on and cancel them, whose LPs keep a
// table of their own and fail if `cancel` or a timer that fires says anything else than it does.
#include <map>
#include <vector>

#include "checkpoint/options.h"
#include "run/engine_cases.h"

namespace orrery::testing {
namespace {

struct Order {
  std::uint32_t hops;
};
struct Alarm {
  std::uint64_t name;
};
/// Its bytes are not compared, since it holds a floating-point number.
struct Weight {
  double grams;
  std::uint64_t name;
};

struct Programs : Model {
  Metric fired{*this, "fired", "s", "delays of timers that fired"};
  Table alarms{*this, "alarms", {{"name", ColumnType::integer}}, "timers that fired"};
  LpId lps = 24;
  std::int64_t horizon = kSanitizers ? 700 : 2'000;
  bool expanded = false;      ///< orders last for a while
  int fresh = 3;              ///< timers that an order sets, at most
  std::uint64_t cancels = 3;  ///< that it tries, at most
  std::int64_t longest = 60;

  std::uint64_t lp_count() const override { return lps; }
  std::unique_ptr<LogicalProcessBase> create(LpId id) const override;
  Time default_horizon() const override { return Time::from_ticks(horizon); }
};

/// What the LP knows of the timers that it has set.
struct Known {
  Timer timer;
  bool live = true;
};

class Programmer final : public LogicalProcess<Programmer, Order, Alarm, Weight> {
 public:
  explicit Programmer(const Programs& programs) : programs_(programs) {}

  void start(Context& context) override {
    if (context.cancel(Timer())) context.fail("no timer was live");
    set(context, 3);
    cancel_any(context);
    context.schedule(context.self(), Duration::from_ticks(1 + context.self() % 5), Order{0});
  }
  void handle(Context& context, const Order& order) {
    set(context,
        static_cast<int>(context.random().below(static_cast<std::uint64_t>(programs_.fresh) + 1)));
    for (std::uint64_t n = context.random().below(programs_.cancels + 1); n > 0; --n)
      cancel_any(context);
    const auto to = static_cast<LpId>(context.random().below(context.lp_count()));
    const auto delay = context.duration() + some_delay(context, 12);
    if (programs_.expanded && order.hops % 2 == 0) {
      context.schedule_expanded(to, delay, some_delay(context, 9), Order{order.hops + 1});
    } else {
      context.schedule(to, delay, Order{order.hops + 1});
    }
  }
  void handle(Context& context, const Alarm& alarm) { note_fired(context, alarm.name); }
  void handle(Context& context, const Weight& weight) {
    if (weight.grams != static_cast<double>(weight.name)) context.fail("the payload is damaged");
    note_fired(context, weight.name);
  }
  void finish(FinalContext& context) override {
    for (const auto& [name, known] : timers_) {
      context.state(name);
      context.state(known.live);
    }
  }

 private:
  Duration some_delay(Context& context, std::uint64_t below) const {
    return Duration::from_ticks(static_cast<std::int64_t>(context.random().below(below)));
  }
  void set(Context& context, int count) {
    for (; count > 0; --count) {
      const std::uint64_t name = next_++;
      // Now and then beyond the horizon: such a timer is live for ever.
      const bool far = context.random().below(20) == 0;
      const Duration delay =
          context.duration() +
          (far ? Duration::from_ticks(programs_.horizon)
               : some_delay(context, static_cast<std::uint64_t>(programs_.longest)));
      Timer timer = name % 3 == 0
                        ? context.schedule_timer(delay, Weight{static_cast<double>(name), name})
                        : context.schedule_timer(delay, Alarm{name});
      if (!timer || timer == Timer()) context.fail("a timer that was set is one");
      timers_[name].timer = timer;
    }
  }
  void cancel_any(Context& context) {
    if (timers_.empty()) return;
    auto one = timers_.lower_bound(context.random().below(next_));
    if (one == timers_.end()) one = timers_.begin();
    const Timer copy = one->second.timer;
    if (context.cancel(copy) != one->second.live) context.fail("cancel() says what is not so");
    if (context.cancel(copy)) context.fail("a timer was cancelled twice");
    one->second.live = false;
    if (timers_.size() > 40) timers_.erase(one);
  }
  void note_fired(Context& context, std::uint64_t name) {
    const auto one = timers_.find(name);
    // Forgotten ones were cancelled.
    if (one == timers_.end() || !one->second.live) context.fail("a cancelled timer has fired");
    one->second.live = false;
    if (context.cancel(one->second.timer)) context.fail("a timer was live while it fired");
    context.record(programs_.fired, static_cast<double>(name % 10));
    if (name % 4 == 0) context.emit(programs_.alarms, name);
    if (name % 5 == 0) set(context, 1);
  }

  const Programs& programs_;
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, Known> timers_;
};

std::unique_ptr<LogicalProcessBase> Programs::create(LpId) const {
  return std::make_unique<Programmer>(*this);
}

class Timers : public OnEveryEngine {};

TEST_P(Timers, AreLiveUntilTheyFireOrAreCancelled) {
  for (const bool expanded : {false, true}) {
    Programs programs;
    programs.expanded = expanded;
    const Outcome outcome = expect_completed(programs);
    EXPECT_GT(outcome.result.metrics.at(0).count, 500u);
  }
}

/// Enough dead ones for engines to look for them.
TEST_P(Timers, AreReclaimed) {
  Programs programs;
  programs.lps = 6;
  programs.fresh = 60;
  programs.cancels = 60;
  programs.longest = 1'900;
  programs.horizon = kSanitizers ? 1'000 : 2'500;
  expect_completed(programs);
}

TEST_P(Timers, WorkOnEveryStrategy) {
  if (GetParam().engine != "timewarp" || GetParam().workers < 2) GTEST_SKIP() << "no rollbacks";
  Programs programs;
  const Outcome expected = reference(programs);
  for (const char* strategy : {"copy", "incremental", "adaptive", "periodic:1", "periodic:9"}) {
    RunOptions options;
    options.set(checkpoint::kCheckpoint, strategy);
    expect_same(expected, run(programs, options), strategy);
  }
}

TEST_P(Timers, ACancelledOneDoesNotCount) {
  ScriptModel model(2);
  model.on_start = [](Context& context, ScriptLp&) {
    const Timer early = context.schedule_timer(ticks(5), Step{});
    context.schedule_timer(ticks(7), Step{});
    if (!context.cancel(early)) context.fail("it was live");
  };
  const Outcome outcome = expect_completed(model);
  EXPECT_EQ(outcome.result.committed, 2u);
}

TEST_P(Timers, AnotherLpCannotCancelThem) {
  ScriptModel model(4);
  std::vector<Timer> set(4);
  model.on_start = [&set](Context& context, ScriptLp&) {
    set[context.self()] = context.schedule_timer(ticks(50 + context.self()), Step{});
    if (context.self() == 3) context.schedule(1, ticks(20), Step{});
  };
  model.on_step = [&set](Context& context, ScriptLp&, const Step&) {
    if (context.now().ticks() == 20) context.cancel(set[2]);
  };
  const Outcome expected = reference(model);
  const Outcome actual = run(model);
  EXPECT_EQ(actual.result.end, RunEnd::fault);
  EXPECT_NE(actual.result.fault.find("cancels a timer of LP 2; only the LP that has set a timer"),
            std::string::npos)
      << actual.result.fault;
  expect_same(expected, actual, GetParam().text());
}

TEST(CheckedTimers, AreLiveUntilTheyFireOrAreCancelled) {
  for (const bool expanded : {false, true}) {
    Programs programs;
    programs.expanded = expanded;
    programs.lps = 8;
    programs.horizon = 300;
    expect_same(run_model(programs, "sequential", {}), run_model(programs, "checker", {}),
                "checker");
  }
}

ORRERY_ON_EVERY_ENGINE(Timers);

// ---- Reverse handlers

/// Sets and cancels timers in handlers that are undone by reverse handlers.
struct Sleepers final : Model {
  Metric naps{*this, "naps", "", "timers that fired"};
  LpId lps = 30;
  std::uint64_t lp_count() const override { return lps; }
  std::unique_ptr<LogicalProcessBase> create(LpId id) const override;
  Time default_horizon() const override { return Time::from_ticks(kSanitizers ? 800 : 2'500); }
};

class Sleeper final : public LogicalProcess<Sleeper, Order, Alarm> {
 public:
  explicit Sleeper(const Sleepers& sleepers) : sleepers_(sleepers) {}
  void start(Context& context) override {
    context.schedule(context.self(), Duration::from_ticks(1 + context.self() % 3), Order{0});
  }
  void handle(Context& context, const Order& order) {
    ++orders_;
    const std::size_t at = order.hops % kTimers;
    context.remember(timers_[at]);
    context.remember(cancelled_);
    cancelled_ += context.cancel(timers_[at]) ? 1 : 0;
    timers_[at] = context.schedule_timer(
        Duration::from_ticks(static_cast<std::int64_t>(context.random().below(90))), Alarm{at});
    const auto to = static_cast<LpId>(context.random().below(context.lp_count()));
    context.schedule(to, Duration::from_ticks(static_cast<std::int64_t>(context.random().below(9))),
                     Order{order.hops + 1 + static_cast<std::uint32_t>(context.random().below(3))});
  }
  void handle(Context& context, const Alarm& alarm) {
    if (context.cancel(timers_[alarm.name])) context.fail("it was live while it fired");
    ++fired_;
    if (fired_ > 20) context.record(sleepers_.naps, 1);
  }
  void reverse(ReverseContext& context, const Order& order) {
    --orders_;
    cancelled_ = context.recall<std::uint32_t>();
    timers_[order.hops % kTimers] = context.recall<Timer>();
  }
  void reverse(ReverseContext&, const Alarm&) { --fired_; }
  void finish(FinalContext& context) override {
    context.state(orders_);
    context.state(cancelled_);
    context.state(fired_);
  }

 private:
  static constexpr std::size_t kTimers = 40;
  const Sleepers& sleepers_;
  std::uint32_t orders_ = 0, cancelled_ = 0, fired_ = 0;
  Timer timers_[kTimers];
};

std::unique_ptr<LogicalProcessBase> Sleepers::create(LpId) const {
  return std::make_unique<Sleeper>(*this);
}

TEST(ReversedTimers, AreAsBefore) {
  Sleepers sleepers;
  const Outcome expected = run_model(sleepers, "sequential", {});
  ASSERT_EQ(expected.result.end, RunEnd::completed) << expected.result.fault;
  for (const unsigned workers : {2u, 4u}) {
    RunOptions options;
    options.workers = workers;
    options.bind = false;
    options.set(checkpoint::kCheckpoint, "reverse");
    options.set(threads_option(), workers);
    expect_same(expected, run_model(sleepers, "timewarp", options), std::to_string(workers));
  }
}

TEST(ReversedTimers, AreChecked) {
  Sleepers sleepers;
  sleepers.lps = 6;
  RunOptions options;
  options.until = Time::from_ticks(kSanitizers ? 150 : 400);
  const Outcome expected = run_model(sleepers, "sequential", options);
  for (const char* strategy : {"reverse", "auto"}) {
    options.set(checkpoint::kCheckpoint, strategy);
    expect_same(expected, run_model(sleepers, "checker", options), strategy);
  }
}

}  // namespace
}  // namespace orrery::testing
