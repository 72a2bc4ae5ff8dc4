// SPDX-License-Identifier: Apache-2.0
//
// Stalls in real time at chosen LPs: a worker stands still within a handler, the others run ahead
// and must be rolled back when it goes on. Whatever the stalls do to the order of execution, what
// is committed stays the same. A failure names the seed of the stalls and the options.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <thread>

#include "checkpoint/options.h"
#include "engine/timewarp/settings.h"
#include "equality/random_model.h"
#include "equality/run_model.h"

namespace orrery::testing {
namespace {

struct Token {
  std::uint64_t value;
};

/// Walks with zero delays, ties and state in containers; every fifth LP sleeps now and then. When
/// it sleeps is decided by a counter outside of all LPs, so it differs from run to run and after
/// every rollback: the results must not notice.
class StallModel;

class StallLp final : public LogicalProcess<StallLp, Token> {
 public:
  explicit StallLp(const StallModel& model) : model_(model) {}
  void start(Context& context) override;
  void handle(Context& context, const Token& token);
  void finish(FinalContext& context) override {
    context.state(digest_);
    for (const auto& [key, text] : texts_) context.state(key + text.size());
  }

 private:
  const StallModel& model_;
  std::uint64_t digest_ = 1;
  std::map<std::uint64_t, std::string> texts_;
};

class StallModel final : public Model {
 public:
  StallModel(std::uint64_t stall_seed, LpId lps) : stall_seed_(stall_seed), lps_(lps) {}
  std::uint64_t lp_count() const override { return lps_; }
  Time default_horizon() const override { return Time::from_ticks(3000); }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override {
    return std::make_unique<StallLp>(*this);
  }
  /// Sleeps 1 to 5 ms in about one of 500 events of the LPs that are prone to it. At most 80 times
  /// a run, so that a run that rolls back a lot ends all the same.
  void maybe_stall(LpId lp) const {
    if (stall_seed_ == 0 || lp % 5 != stall_seed_ % 5) return;
    const std::uint64_t n = (visits_.fetch_add(1) + stall_seed_ * 977) * 0x9e3779b97f4a7c15u >> 40;
    if (n % 100 != 0 || stalls_.fetch_add(1) >= 80) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1 + n / 100 % 5));
  }
  std::uint64_t stalls() const { return stalls_; }

  const Metric delays{*this, "delays", "ticks", "delays chosen"};
  const Table rows{*this, "rows", {{"value", ColumnType::integer}}, "some events"};

 private:
  const std::uint64_t stall_seed_;
  const LpId lps_;
  mutable std::atomic<std::uint64_t> visits_{0}, stalls_{0};
};

void StallLp::start(Context& context) {
  for (std::uint64_t i = 0; i < 3; ++i)
    context.schedule(context.self(), Duration::from_ticks(static_cast<std::int64_t>(i) * 10),
                     Token{context.self() * 3 + i});
}

void StallLp::handle(Context& context, const Token& token) {
  model_.maybe_stall(context.self());
  digest_ = digest_ * 0x9e3779b97f4a7c15u + token.value;
  texts_[token.value % 13] += std::to_string(digest_ % 1000);
  if (texts_.size() > 9) texts_.erase(texts_.begin());
  auto& random = context.random();
  const auto to = static_cast<LpId>(random.below(context.lp_count()));
  const std::int64_t steps =
      random.below(10) == 0 && token.value % 2 == 0 ? 0 : random.integer(1, 6);
  context.record(model_.delays, static_cast<double>(steps) * 0.1);
  if (random.below(8) == 0) context.emit(model_.rows, digest_);
  context.schedule(to, Duration::from_ticks(steps * 10), Token{token.value * 5 + 1 + steps % 2});
}

TEST(Stalls, ResultsAreTheSame) {
  StallModel calm(0, 40);
  const Outcome expected = run_model(calm, "sequential", {});
  ASSERT_EQ(expected.result.end, RunEnd::completed) << expected.result.fault;
  ASSERT_GT(expected.result.committed, 5000u);
  std::uint64_t stalls = 0;
  double rolled_back = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    StallModel model(seed, 40);
    RunOptions options;
    options.workers = static_cast<unsigned>(2 + seed % 4 * 2);
    options.set(threads_option(), seed % 3 == 0 ? 0 : options.workers);
    options.bind = seed % 2 == 0;
    options.set(checkpoint::kCheckpoint, seed % 3 == 0   ? "copy"
                                         : seed % 3 == 1 ? "auto"
                                                         : "periodic:50");
    options.set(timewarp::kGvtPeriod, seed % 4 == 0 ? 5000 : 0);
    const Outcome actual = run_model(model, "timewarp", options);
    const std::string what = "stall seed " + std::to_string(seed) + ", workers " +
                             std::to_string(options.workers) + ", threads " +
                             std::to_string(options.get(threads_option())) + ", checkpoint " +
                             options.get(checkpoint::kCheckpoint);
    ASSERT_EQ(actual.result.end, RunEnd::completed) << what << ": " << actual.result.fault;
    EXPECT_EQ(actual.result.fingerprint, expected.result.fingerprint) << what;
    EXPECT_EQ(actual.result.committed, expected.result.committed) << what;
    EXPECT_TRUE(actual.rows == expected.rows) << what;
    EXPECT_FALSE(actual.late_rows) << what;
    EXPECT_EQ(actual.result.metrics[0].sum, expected.result.metrics[0].sum) << what;
    stalls += model.stalls();
    rolled_back += static_cast<double>(actual.result.executed - actual.result.committed);
  }
  EXPECT_GT(stalls, 100u) << "the test has lost its point";
  EXPECT_GT(rolled_back, 1000) << "the test has lost its point";
}

/// A stall of one LP while memory is short: the others must wait for it instead of filling memory.
TEST(Stalls, WithASmallMemoryBudget) {
  StallModel calm(0, 40);
  const Outcome expected = run_model(calm, "sequential", {});
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    StallModel model(seed, 40);
    RunOptions options;
    options.workers = 4;
    options.set(threads_option(), 4);
    options.memory_bytes = 300'000 * seed;
    const Outcome actual = run_model(model, "timewarp", options);
    ASSERT_EQ(actual.result.end, RunEnd::completed) << "stall seed " << seed;
    EXPECT_EQ(actual.result.fingerprint, expected.result.fingerprint) << "stall seed " << seed;
    EXPECT_TRUE(actual.rows == expected.rows) << "stall seed " << seed;
  }
}

}  // namespace
}  // namespace orrery::testing
