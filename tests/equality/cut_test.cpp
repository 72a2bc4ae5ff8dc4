// SPDX-License-Identifier: Apache-2.0
//
// Runs that come to a cut every so many events and go on from it commit what others commit. Where
// assertions are on, the engine looks at each cut whether it is one: no LP has a past, nothing is
// on its way, no pending event is cancelled or claimed. So these tests say the most in such builds;
// in the others a message that is lost or an event that is undone at a cut and not executed again
// shows in the fingerprint.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/options.h"
#include "equality/instant_model.h"
#include "equality/random_model.h"
#include "equality/run_model.h"
#include "equality/stopping_rows.h"
#include "equality/time_warp_shape.h"
#include "run/engine_cases.h"
#include "run/world/halts.h"
#include "sanitizers.h"

namespace orrery::testing {
namespace {

/// How a run is paused, and on what.
struct Paused : TimeWarpShape {
  std::string text() const { return text_with("a cut every " + std::to_string(every) + " events"); }
  RunOptions options(std::uint64_t seed = 1) const {
    RunOptions options;
    options.seed = seed;
    disturb(options).to_cut = every;
    return apply_shape(options);
  }
};

/// All worker counts and pauses. A single worker has cuts of this kind only if a checkpoint strategy
/// is named (below).
std::vector<Paused> pauses() {
  if (kSanitizers) return all_shapes<Paused>({2, 4}, {1, 100}, 100);
  return all_shapes<Paused>({2, 3, 4, 8}, {1, 7, 100, 10'000}, 100);
}

/// Runs the model with those pauses and compares with `expected`.
Outcome expect_equal(const Model& model, const Outcome& expected, const Paused& paused,
                     RunOptions options) {
  const Outcome actual = run_model(model, "timewarp", std::move(options));
  expect_same(expected, actual, paused.text());
  return actual;
}

/// That there were cuts. In a single run there may be none, where a round commits nearly all of it.
class CutCount {
 public:
  explicit CutCount(const Outcome& expected) : committed_(expected.result.committed) {}
  void add(const Outcome& actual, const Paused& paused) {
    if (20 * paused.every >= committed_) return;  // without occasion for several
    ++runs_;
    cuts_ += statistic(actual.result, "cuts");
  }
  ~CutCount() { EXPECT_GE(cuts_, runs_) << "cuts in as many runs"; }

 private:
  const std::uint64_t committed_;
  double runs_ = 0, cuts_ = 0;
};

constexpr std::int64_t kHorizonTicks = kSanitizers ? 500 : 1'500;

TEST(Cuts, RandomModels) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    RandomModel model({.shape = seed,
                       .lps = static_cast<LpId>(20 + seed * 37 % 120),
                       .grain_ticks = seed % 2 == 0 ? 1 : 10,
                       .horizon = Duration::from_ticks(kHorizonTicks),
                       .durations = seed == 3,
                       .phases = seed == 2});
    RunOptions sequential;
    sequential.seed = seed;
    const Outcome expected = run_model(model, "sequential", sequential);
    ASSERT_GT(expected.rows.size(), 50u);
    CutCount cuts(expected);
    for (const Paused& paused : pauses())
      cuts.add(expect_equal(model, expected, paused, paused.options(seed)), paused);
    if (HasFailure()) return;
  }
}

TEST(Cuts, UnderEveryKindOfCheckpoint) {
  RandomModel model({.shape = 6, .lps = 60, .horizon = Duration::from_ticks(kHorizonTicks)});
  const Outcome expected = run_model(model, "sequential", {});
  for (const char* checkpoint : {"copy", "periodic:7", "periodic:1000", "adaptive", "incremental"})
    for (const char* offload : {"none", "mono", "multi"}) {
      if (std::string(checkpoint) == "incremental" && std::string(offload) != "none") continue;
      for (const unsigned workers : {1u, 3u, 4u}) {
        const Paused paused{{workers, 7 * workers, 4, checkpoint, offload}};
        expect_equal(model, expected, paused, paused.options());
      }
    }
}

TEST(Cuts, WithLittleMemory) {
  RandomModel model({.shape = 7, .lps = 80, .horizon = Duration::from_ticks(kHorizonTicks)});
  const Outcome expected = run_model(model, "sequential", {});
  for (const std::uint64_t every : {7, 100, 1000}) {
    const Paused paused{{4, every, 4, "auto", "none", 1 << 20}};
    expect_equal(model, expected, paused, paused.options());
  }
}

TEST(Cuts, BeforeAFault) {
  for (const std::int64_t at : {20, 60}) {
    RandomModel model({.shape = 2, .horizon = Duration::from_ticks(50'000), .fault_at_event = at});
    const Outcome expected = run_model(model, "sequential", {});
    ASSERT_EQ(expected.result.end, RunEnd::fault);
    for (const Paused& paused : pauses()) expect_equal(model, expected, paused, paused.options());
  }
}

void set(Model& model, const std::vector<std::pair<std::string, std::string>>& parameters) {
  for (const auto& [name, value] : parameters) set_parameter(model, name, value);
  model.prepare();
}

TEST(Cuts, OfLpsInTheJournal) {
  auto model = make_model("phold");
  set(*model, {{"lps", "200"}, {"remote", "0.9"}});
  RunOptions options;
  options.until = Time::zero() + Duration::seconds(kSanitizers ? 3 : 10);
  const Outcome expected = run_model(*model, "sequential", options);
  CutCount cuts(expected);
  for (const Paused& paused : pauses()) {
    RunOptions with_cuts = paused.options();
    with_cuts.until = options.until;
    cuts.add(expect_equal(*model, expected, paused, with_cuts), paused);
  }
}

TEST(Cuts, OfLargeLpsAndReverseHandlers) {
  auto model = make_model("phold");
  set(*model, {{"lps", "40"}, {"state", "20000"}, {"touched", "500"}, {"remote", "0.9"}});
  RunOptions options;
  options.until = Time::zero() + Duration::seconds(kSanitizers ? 5 : 15);
  const Outcome expected = run_model(*model, "sequential", options);
  CutCount cuts(expected);
  for (const std::string checkpoint : {"auto", "reverse", "incremental"})
    for (const std::uint64_t every : {1, 7, 100})
      for (const unsigned workers : {1u, 2u, 3u, 8u}) {
        if (workers == 1 && checkpoint == "auto") continue;
        const Paused paused{{workers, every, 4, checkpoint}};
        RunOptions with_cuts = paused.options();
        with_cuts.until = options.until;
        cuts.add(expect_equal(*model, expected, paused, with_cuts), paused);
      }
}

// ---- Cuts within an instant

TEST(Cuts, WithinAnInstant) {
  for (const bool phases : {false, true}) {
    const InstantModel model(100, phases);
    const Outcome expected = run_model(model, "sequential", {});
    ASSERT_GT(expected.rows.size(), 100u);
    for (const Paused& paused : pauses()) expect_equal(model, expected, paused, paused.options());
  }
}

TEST(Cuts, OnTheWayIntoALivelock) {
  const InstantModel model(1'000'000'000);
  RunOptions options;
  options.livelock_microsteps = 300;
  const Outcome expected = run_model(model, "sequential", options);
  ASSERT_EQ(expected.result.end, RunEnd::fault);
  ASSERT_NE(expected.result.fault.find("LPs on it"), std::string::npos) << expected.result.fault;
  for (const Paused& paused : pauses()) {
    RunOptions with_cuts = paused.options();
    with_cuts.livelock_microsteps = options.livelock_microsteps;
    expect_equal(model, expected, paused, with_cuts);
  }
}

// ---- What a retreat itself brings forth

/// LPs whose state is not all in the LP. `in_reverse`: their reverse handlers fail; otherwise their
/// handlers fail when some event is executed again.
class FickleModel final : public Model {
 public:
  explicit FickleModel(bool reverse) : in_reverse(reverse) {}
  std::uint64_t lp_count() const override { return 16; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override;
  Time default_horizon() const override { return Time::from_ticks(1'000'000); }

  const bool in_reverse;
  mutable std::array<std::uint64_t, 16> most_handled{};
};

class FickleLp final : public LogicalProcess<FickleLp, Pass> {
 public:
  explicit FickleLp(const FickleModel& model) : model_(model) {}
  void start(Context& context) override { pass(context, context.self()); }
  void handle(Context& context, const Pass& token) {
    ++handled_;
    std::uint64_t& most = model_.most_handled[context.self()];
    if (!model_.in_reverse && handled_ <= most && most > 200) context.fail("not again");
    most = std::max(most, handled_);
    digests_[handled_ % digests_.size()] ^= token.value;
    pass(context, token.value * 3 + 1);
  }
  void reverse(ReverseContext&, const Pass&) { throw std::logic_error("never back"); }
  void finish(FinalContext& context) override { context.state(handled_); }

 private:
  void pass(Context& context, std::uint64_t value) {
    const auto to = static_cast<LpId>(context.random().below(context.lp_count()));
    const auto delay = static_cast<std::int64_t>(context.random().below(20));
    context.schedule(to, Duration::from_ticks(delay), Pass{value, 0, 0});
  }
  const FickleModel& model_;
  std::uint64_t handled_ = 0;
  std::array<std::uint64_t, 300> digests_{};
};

std::unique_ptr<LogicalProcessBase> FickleModel::create(LpId) const {
  return std::make_unique<FickleLp>(*this);
}

/// A cut with such a fault is none; the run goes on to where it ends.
TEST(Cuts, AreGivenUpForFaultsOfTheRetreat) {
  for (const bool in_reverse : {false, true})
    for (const std::uint64_t every : {1, 100}) {
      const FickleModel model(in_reverse);
      const Paused paused{{3, every, 4, in_reverse ? "reverse" : "periodic:20"}};
      const Outcome outcome = run_model(model, "timewarp", paused.options());
      EXPECT_EQ(outcome.result.end, RunEnd::fault) << paused.text();
      EXPECT_NE(outcome.result.fault.find(in_reverse ? "in its reverse handler" : "not again"),
                std::string::npos)
          << outcome.result.fault;
    }
}

// ---- The end

/// The rows of a run that ended before its time are the first ones of the whole, and all of them
/// up to the instant that it reached.
void expect_beginning(const Outcome& whole, const std::vector<CollectedRows::Line>& rows,
                      const RunResult& result, const std::string& what) {
  ASSERT_LE(rows.size(), whole.rows.size()) << what;
  for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], whole.rows[i]) << what;
  if (rows.size() == whole.rows.size()) return;
  EXPECT_GE(std::get<Key>(whole.rows[rows.size()]).time(), result.reached) << what;
}

/// In whatever phase of a cut the request comes: rounds follow each other in them.
TEST(Cuts, AreNoHindranceToAStopRequest) {
  RandomModel model({.shape = 8, .lps = 60, .horizon = Duration::from_ticks(100'000)});
  RunOptions sequential;
  sequential.until = Time::from_ticks(20'000);
  const Outcome whole = run_model(model, "sequential", sequential);
  for (unsigned calls = 1; calls <= 24; ++calls) {
    const Paused paused{{2 + calls % 3, 1 + calls % 3, 4}};
    RunOptions options = paused.options();
    options.until = model.default_horizon();
    RunControl control;
    StoppingRows rows(control, StoppingRows::at_call(calls));
    const RunResult result = find_engine("timewarp").make()->run(model, options, control);
    const std::string what = paused.text() + ", stopped after " + std::to_string(calls);
    ASSERT_EQ(result.end, RunEnd::interrupted) << what;
    ASSERT_LT(result.reached, sequential.until) << what;
    expect_beginning(whole, rows.collected.sorted(), result, what);
  }
}

/// Ends a run at its first halt, after so many events.
class FirstHalt final : public RunHalts {
 public:
  explicit FirstHalt(std::uint64_t events) { goal_.events = events; }
  Goal next_goal(const World&) override { return goal_; }
  bool at_halt(World&) override { return false; }
  void at_end(RunResult&) override {}
  RunEnd end() const override { return RunEnd::paused; }

 private:
  Goal goal_;
};

TEST(Cuts, CanEndARun) {
  RandomModel model({.shape = 4, .lps = 60, .horizon = Duration::from_ticks(kHorizonTicks)});
  const Outcome whole = run_model(model, "sequential", {});
  for (const Paused& paused : pauses()) {
    if (20 * paused.every > whole.result.committed) continue;
    FirstHalt first(paused.every);
    const Outcome actual = run_model(model, "timewarp", paused.options(), &first);
    ASSERT_EQ(actual.result.end, RunEnd::paused) << paused.text();
    EXPECT_EQ(statistic(actual.result, "cuts"), 1) << paused.text();
    EXPECT_GE(actual.result.committed, paused.every) << paused.text();
    EXPECT_FALSE(actual.late_rows) << paused.text();
    expect_beginning(whole, actual.rows, actual.result, paused.text());
  }
}

}  // namespace
}  // namespace orrery::testing
