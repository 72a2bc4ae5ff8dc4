// SPDX-License-Identifier: Apache-2.0
//
// Reverse handlers on Time Warp: a model that uses all of what they have to bring back (members,
// remembered values, metrics, rows, the random stream, sends), and models that get them wrong.
#include <gtest/gtest.h>

#include <array>
#include <atomic>

#include "checkpoint/options.h"
#include "core/model_stack.h"
#include "crashes.h"
#include "engine/timewarp/settings.h"
#include "run/containment/crash_guard.h"
#include "run/engine_cases.h"

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
  /// A handler found what a failed reverse handler had left.
  mutable std::atomic<bool> half_undone{false};
  bool forgets = false;      ///< the reverse handler leaves a member as it is
  bool wrong = false;        ///< the reverse handler recalls what was not remembered
  bool crashes = false;      ///< the reverse handler does
  bool fails_early = false;  ///< a handler fails on what only a wrong guess can see
  /// The reverse handler takes a member from here, where its value before the last event lies.
  mutable std::vector<std::uint64_t> mislaid;
  std::uint64_t fails_at = 0;  ///< the handler of this many tokens fails midway

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
    if (tokens_ != again_) ring_.half_undone = true;
    ++again_;
    context.remember(last_[token.hops % last_.size()]);
    last_[token.hops % last_.size()] = token.hops;
    ++tokens_;
    if (!ring_.mislaid.empty()) ring_.mislaid[context.self()] = load_;
    load_ += token.hops;
    if (tokens_ == ring_.fails_at) context.fail("one token too many");
    context.record(ring_.waiting, static_cast<double>(token.hops % 100));
    if (tokens_ % 16 == 0) context.emit(ring_.visits, token.hops, static_cast<double>(load_));
    const auto to = static_cast<LpId>(context.random().below(context.lp_count()));
    context.schedule(to, Duration::from_ticks(static_cast<std::int64_t>(context.random().below(9))),
                     Token{token.hops + 1 + steps(context)});
  }
  void reverse(ReverseContext& context, const Token& token) {
    --tokens_;
    if (!ring_.forgets) load_ -= token.hops;
    if (!ring_.mislaid.empty()) load_ = ring_.mislaid[context.self()];
    if (ring_.wrong) static_cast<void>(context.recall<double>());
    if (ring_.crashes) *nowhere = 1;
    last_[token.hops % last_.size()] = context.recall<std::uint32_t>();
    --again_;
  }
  void finish(FinalContext& context) override {
    context.state(tokens_);
    context.state(load_);
    for (const std::uint32_t value : last_) context.state(value);
  }

 private:
  /// From a stream by name, which is the platform's to undo.
  std::uint32_t steps(Context& context) {
    return static_cast<std::uint32_t>(context.random(steps_).below(3));
  }

  const Ring& ring_;
  std::uint64_t tokens_ = 0, again_ = 0, load_ = 0;
  RandomStream steps_{"steps"};
  std::array<std::uint32_t, 512> last_{};
};

std::unique_ptr<LogicalProcessBase> Ring::create(LpId) const {
  return std::make_unique<Station>(*this);
}

RunOptions reverse_options(unsigned workers) {
  RunOptions options;
  options.workers = workers;
  options.bind = false;
  options.set(checkpoint::kCheckpoint, "reverse");
  options.until = Time::from_ticks(3000);
  return options;
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
    EXPECT_GT(statistic(actual.result, "checkpoint_reversals"), 1000);
    rolled_back += statistic(actual.result, "rolled_back");
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
  EXPECT_FALSE(ring.half_undone);
}

TEST(Reverse, HandlersThatCrashAreAFaultOrNeverHappened) {
  if (!ORRERY_MODEL_STACKS) GTEST_SKIP() << "a crash ends the process here";
  const CrashGuard guard;
  Ring ring;
  ring.crashes = true;
  RunOptions options = reverse_options(4);
  const Outcome expected = run_model(ring, "sequential", options);
  int faults = 0;
  for (int i = 0; i < 5; ++i) {
    const Outcome outcome = run_model(ring, "timewarp", options);
    if (outcome.result.end == RunEnd::completed) {
      EXPECT_EQ(outcome.result.fingerprint, expected.result.fingerprint);
      continue;
    }
    ++faults;
    EXPECT_NE(outcome.result.fault.find("a crash (SIGSEGV, "), std::string::npos)
        << outcome.result.fault;
    EXPECT_NE(outcome.result.fault.find("in its reverse handler"), std::string::npos);
  }
  EXPECT_GT(faults, 0);
  EXPECT_FALSE(ring.half_undone);
}

/// Small at first: it gets much memory, and with it a record of its own, while it handles a token.
class Grower final : public LogicalProcess<Grower, Token> {
 public:
  void start(Context& context) override {
    context.schedule(context.self(), Duration::from_ticks(1 + context.self() % 7), Token{0});
  }
  void handle(Context& context, const Token& token) {
    if (++count_ == kGrowsAt) more_ = std::make_unique<More>();
    if (more_ != nullptr) (*more_)[token.hops % more_->size()] += count_;
    sum_ += token.hops;
    const auto to = static_cast<LpId>(context.random().below(context.lp_count()));
    context.schedule(to, Duration::from_ticks(static_cast<std::int64_t>(context.random().below(9))),
                     Token{token.hops + 1});
  }
  void reverse(ReverseContext&, const Token& token) {
    sum_ -= token.hops;
    if (more_ != nullptr) (*more_)[token.hops % more_->size()] -= count_;
    if (count_-- == kGrowsAt) more_.reset();
  }
  void finish(FinalContext& context) override {
    context.state(count_);
    context.state(sum_);
    if (more_ == nullptr) return;
    for (const std::uint64_t value : *more_) context.state(value);
  }

 private:
  using More = std::array<std::uint64_t, 256>;
  static constexpr std::uint64_t kGrowsAt = 10;
  std::uint64_t count_ = 0, sum_ = 0;
  std::unique_ptr<More> more_;
};

class Nursery final : public Model {
 public:
  std::uint64_t lp_count() const override { return 16; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override {
    return std::make_unique<Grower>();
  }
};

/// The event in which an LP gets its record began without one, and ends without one.
TEST(Reverse, LpsMayBecomeLargeInAnEvent) {
  const Nursery nursery;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    RunOptions options;
    options.seed = seed;
    options.bind = false;
    options.until = Time::from_ticks(1000);
    const Outcome expected = run_model(nursery, "sequential", options);
    options.workers = 8;
    options.set(timewarp::kGvtPeriod, 1);
    options.set(timewarp::kWindow, 100);
    expect_same(expected, run_model(nursery, "timewarp", options), "seed " + std::to_string(seed));
  }
}

TEST(Reverse, CheckerProvesHandlersThatAreRight) {
  Ring ring;
  RunOptions options = reverse_options(1);
  options.until = Time::from_ticks(300);
  const Outcome expected = run_model(ring, "sequential", options);
  for (const char* checkpoint : {"reverse", "auto"}) {
    options.set(checkpoint::kCheckpoint, checkpoint);
    const Outcome actual = run_model(ring, "checker", options);
    EXPECT_EQ(actual.result.fault, "");
    EXPECT_EQ(actual.result.fingerprint, expected.result.fingerprint);
    EXPECT_GT(statistic(actual.result, "checkpoint_reversals"), 100);
  }
}

/// Undone one event at a time it is right.
TEST(Reverse, CheckerFindsHandlersThatUndoOnlyTheLastEvent) {
  Ring ring;
  ring.mislaid.resize(ring.lps);
  RunOptions options = reverse_options(1);
  options.until = Time::from_ticks(1000);
  EXPECT_EQ(run_model(ring, "checker", options).result.fault, "");
  options.set(checkpoint::kCheckpoint, "auto");
  const Outcome outcome = run_model(ring, "checker", options);
  ASSERT_EQ(outcome.result.end, RunEnd::fault);
  for (const char* part : {"the rollback of ", " events by strategy 'reverse' did not restore it",
                           "Station", "must bring every member back"})
    EXPECT_NE(outcome.result.fault.find(part), std::string::npos) << outcome.result.fault;
}

/// What a handler that fails midway has changed is taken back from the image beneath.
TEST(Reverse, CheckerReportsAFaultOfTheHandlerItself) {
  Ring ring;
  ring.fails_at = 30;
  for (std::uint64_t seed = 1; seed <= (kSanitizers ? 10u : 60u); ++seed) {
    RunOptions options = reverse_options(1);
    options.seed = seed;
    const Outcome expected = run_model(ring, "sequential", options);
    ASSERT_EQ(expected.result.end, RunEnd::fault);
    for (const char* checkpoint : {"reverse", "auto"}) {
      options.set(checkpoint::kCheckpoint, checkpoint);
      expect_same(expected, run_model(ring, "checker", options), checkpoint);
    }
  }
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

struct Addend {
  std::uint64_t value;
};
struct Word {
  std::uint64_t value;
};

/// Allocates as many bytes as the platform does when an LP records for the first time, which here
/// is in the middle of things, and fails on what only a wrong guess can see.
class Pile final : public LogicalProcess<Pile, Addend, Word> {
 public:
  explicit Pile(const Metric& metric) : metric_(metric) {}
  ~Pile() override {
    while (top_ != nullptr) pop();
  }
  void start(Context& context) override {
    mixed_ = context.random().below(1u << 30);
    context.schedule(context.self(), Duration::from_ticks(100), Addend{1});
  }
  void handle(Context& context, const Addend& step) {
    context.remember(mixed_);
    context.remember(words_);
    mixed_ = mixed_ * 6364136223846793005u + step.value + 1;
    if (words_ == 0 && steps_ > 0 && mixed_ >> 20 & 1) context.fail("a step without a word");
    words_ = 0;
    ++steps_;
    if (mixed_ >> 33 & 1) push(mixed_);
    const LpId count = context.lp_count();
    context.schedule((context.self() + 1) % count, Duration::from_ticks(50), Word{mixed_});
    context.schedule((context.self() + 7) % count, Duration::from_ticks(30), Word{mixed_ + 5});
    context.schedule(context.self(), Duration::from_ticks(100), Addend{mixed_});
  }
  void reverse(ReverseContext& context, const Addend&) {
    if (mixed_ >> 33 & 1) pop();
    --steps_;
    words_ = context.recall<std::uint64_t>();
    mixed_ = context.recall<std::uint64_t>();
  }
  void handle(Context& context, const Word& word) {
    context.remember(mixed_);
    mixed_ ^= word.value * 2862933555777941757u;
    ++words_;
    if (word.value >> 13 & 1) {
      push(word.value);
    } else {
      context.record(metric_, static_cast<double>(word.value % 1000));
    }
  }
  void reverse(ReverseContext& context, const Word& word) {
    if (word.value >> 13 & 1) pop();
    --words_;
    mixed_ = context.recall<std::uint64_t>();
  }
  void finish(FinalContext& context) override {
    std::uint64_t sum = mixed_ + steps_;
    for (const Plate* plate = top_; plate != nullptr; plate = plate->below)
      sum = sum * 31 + plate->value;
    context.state(sum);
  }

 private:
  struct Plate {
    Plate* below;
    std::uint64_t value;
    std::uint64_t more[3];
  };
  static_assert(sizeof(Plate) == sizeof(Summary));
  void push(std::uint64_t value) { top_ = new Plate{top_, value, {value, value, value}}; }
  void pop() { delete std::exchange(top_, top_->below); }

  const Metric& metric_;
  Plate* top_ = nullptr;
  std::uint64_t mixed_ = 0, steps_ = 0, words_ = 1;
};

class Piles final : public Model {
 public:
  Metric values{*this, "values", "", "some of the words"};
  std::uint64_t lp_count() const override { return 64; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override {
    return std::make_unique<Pile>(values);
  }
};

TEST(Reverse, AFirstMetricLeavesNoTraceInMemory) {
  Piles piles;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    RunOptions options = reverse_options(3);
    options.until = Time::from_ticks(4000);
    options.seed = seed;
    const Outcome expected = run_model(piles, "sequential", options);
    ASSERT_EQ(expected.result.end, RunEnd::completed) << expected.result.fault;
    expect_same(expected, run_model(piles, "timewarp", options), "seed " + std::to_string(seed));
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
  options.set(checkpoint::kCheckpoint, "auto");
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
