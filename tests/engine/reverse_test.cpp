// SPDX-License-Identifier: Apache-2.0
//
// Reverse handlers on Time Warp: a model that uses all of what they have to bring back (members,
// remembered values, metrics, rows, the random stream, sends), and models that get them wrong.
#include <gtest/gtest.h>

#include <array>

#include "engine/engine_cases.h"

namespace orrery::testing {
namespace {

struct Token {
  std::uint32_t hops;
};

class Station;

class Ring final : public Model {
 public:
  Metric waiting{*this, "waiting", "s", "time between tokens"};
  Table visits{*this,
               "visits",
               {{"hops", ColumnType::integer}, {"load", ColumnType::real}},
               "now and then a token"};
  LpId lps = 40;
  bool forgets = false;      ///< the reverse handler leaves a member as it is
  bool wrong = false;        ///< the reverse handler recalls what was not remembered
  bool fails_early = false;  ///< a handler fails on what only a wrong guess can see

  std::uint64_t lp_count() const override { return lps; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override;
};

class Station final : public LogicalProcess<Station, Token> {
 public:
  explicit Station(const Ring& ring) : ring_(ring) {}
  void start(Context& context) override {
    context.schedule(context.self(), Duration::from_ticks(1 + context.self() % 7), Token{0});
    context.schedule((context.self() * 7 + 1) % context.lp_count(), Duration::from_ticks(5),
                     Token{1});
  }
  void handle(Context& context, const Token& token) {
    if (ring_.fails_early && token.hops < last_[0] && token.hops + 40 < last_[0])
      context.fail("a token came late");
    context.remember(last_[token.hops % last_.size()]);
    last_[token.hops % last_.size()] = token.hops;
    ++tokens_;
    load_ += token.hops;
    context.record(ring_.waiting, static_cast<double>(token.hops % 100));
    if (tokens_ % 16 == 0) context.emit(ring_.visits, token.hops, static_cast<double>(load_));
    const auto to = static_cast<LpId>(context.random().below(context.lp_count()));
    context.schedule(to, Duration::from_ticks(static_cast<std::int64_t>(context.random().below(9))),
                     Token{token.hops + 1 + static_cast<std::uint32_t>(context.random().below(3))});
  }
  void reverse(ReverseContext& context, const Token& token) {
    --tokens_;
    if (!ring_.forgets) load_ -= token.hops;
    if (ring_.wrong) static_cast<void>(context.recall<double>());
    last_[token.hops % last_.size()] = context.recall<std::uint32_t>();
  }
  void finish(FinalContext& context) override {
    context.state(tokens_);
    context.state(load_);
    for (const std::uint32_t value : last_) context.state(value);
  }

 private:
  const Ring& ring_;
  std::uint64_t tokens_ = 0, load_ = 0;
  std::array<std::uint32_t, 512> last_{};
};

std::unique_ptr<LogicalProcessBase> Ring::create(LpId) const {
  return std::make_unique<Station>(*this);
}

RunOptions reverse_options(unsigned workers) {
  RunOptions options;
  options.workers = workers;
  options.bind = false;
  options.checkpoint = "reverse";
  options.until = Time::from_ticks(3000);
  return options;
}

double statistic(const Outcome& outcome, std::string_view name) {
  for (const Statistic& s : outcome.result.statistics)
    if (s.name == name) return s.value;
  return -1;
}

TEST(Reverse, CommitsTheSame) {
  Ring ring;
  RunOptions options = reverse_options(1);
  const Outcome expected = run_model(ring, "sequential", options);
  ASSERT_EQ(expected.result.end, RunEnd::completed) << expected.result.fault;
  double rolled_back = 0;
  for (const unsigned workers : {1u, 2u, 4u, 7u}) {
    options.workers = workers;
    const Outcome actual = run_model(ring, "timewarp", options);
    expect_same(expected, actual, std::to_string(workers) + " workers");
    EXPECT_GT(statistic(actual, "checkpoint_reversals"), 1000);
    rolled_back += statistic(actual, "rolled_back");
  }
  EXPECT_GT(rolled_back, 0);
}

TEST(Reverse, HandlersThatFailMidwayAreContained) {
  Ring ring;
  ring.fails_early = true;
  RunOptions options = reverse_options(1);
  const Outcome expected = run_model(ring, "sequential", options);
  for (const unsigned workers : {2u, 4u}) {
    options.workers = workers;
    expect_same(expected, run_model(ring, "timewarp", options), std::to_string(workers));
  }
}

TEST(Reverse, WrongRecallIsAFaultOrNeverHappened) {
  Ring ring;
  ring.wrong = true;
  RunOptions options = reverse_options(4);
  const Outcome outcome = run_model(ring, "timewarp", options);
  if (outcome.result.end == RunEnd::completed) {
    EXPECT_EQ(outcome.result.fingerprint,
              run_model(ring, "sequential", options).result.fingerprint);
  } else {
    EXPECT_NE(outcome.result.fault.find("it recalls 8 bytes where 4 were remembered"),
              std::string::npos)
        << outcome.result.fault;
    EXPECT_NE(outcome.result.fault.find("in its reverse handler"), std::string::npos);
  }
}

TEST(Reverse, CheckerProvesHandlersThatAreRight) {
  Ring ring;
  RunOptions options = reverse_options(1);
  options.until = Time::from_ticks(300);
  const Outcome expected = run_model(ring, "sequential", options);
  const Outcome actual = run_model(ring, "checker", options);
  EXPECT_EQ(actual.result.fault, "");
  EXPECT_EQ(actual.result.fingerprint, expected.result.fingerprint);
}

TEST(Reverse, CheckerFindsHandlersThatAreWrong) {
  for (const bool forgets : {true, false}) {
    Ring ring;
    ring.forgets = forgets;
    ring.wrong = !forgets;
    RunOptions options = reverse_options(1);
    options.until = Time::from_ticks(300);
    const Outcome outcome = run_model(ring, "checker", options);
    ASSERT_EQ(outcome.result.end, RunEnd::fault);
    const char* expected = forgets ? "must bring every member back" : "its reverse handler failed";
    EXPECT_NE(outcome.result.fault.find(expected), std::string::npos) << outcome.result.fault;
    EXPECT_NE(outcome.result.fault.find("Token"), std::string::npos) << outcome.result.fault;
  }
}

class Irreversible final : public LogicalProcess<Irreversible, Token> {
 public:
  void handle(Context&, const Token&) {}
};
class IrreversibleModel final : public Model {
 public:
  std::uint64_t lp_count() const override { return 3; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override {
    return std::make_unique<Irreversible>();
  }
};

TEST(Reverse, RefusedWhereNoLpHasHandlers) {
  IrreversibleModel model;
  try {
    run_model(model, "timewarp", reverse_options(2));
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("no LP of this model has reverse handlers"),
              std::string::npos);
  }
}

class HoarderModel final : public Model {
 public:
  std::uint64_t lp_count() const override { return 8; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override {
    struct Hoarder final : LogicalProcess<Hoarder, Token> {
      void handle(Context&, const Token&) {}
      std::vector<char> hoard = std::vector<char>(1 << 20);
    };
    return std::make_unique<Hoarder>();
  }
};

TEST(MemoryBudget, RefusedWhereTheStatesAloneAreLarger) {
  HoarderModel model;
  RunOptions options = reverse_options(2);
  options.checkpoint = "auto";
  options.memory_bytes = 4 << 20;
  try {
    run_model(model, "timewarp", options);
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("more than the memory budget"), std::string::npos);
  }
}

}  // namespace
}  // namespace orrery::testing
