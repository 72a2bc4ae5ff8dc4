// SPDX-License-Identifier: Apache-2.0
//
// Wrong guesses that breed: handlers that, in states which never occur in order, answer one event
// with several to LPs that do the same, with zero delay or little. A window in ticks cannot hold
// that back, and the cancellations of one wave cost a rollback each if every one is obeyed at once.
// However many workers there are and however small the budget, most of what is executed must
// commit. That is asked of all runs together: in a single one a thread that the system does not run
// for a while costs the others what they guess meanwhile. None may come near the fifty-fold of
// executing without a bound.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/timewarp/settings.h"
#include "equality/run_model.h"
#include "orrery/orrery.h"

namespace orrery::testing {
namespace {

struct Tick {};
struct Question {
  std::uint64_t id;
  LpId from;
  std::uint32_t pad;
};
struct Answer {
  std::uint64_t id;
  LpId from;
  std::uint32_t pad;
};

struct Shape {
  LpId lps;
  std::int64_t spread_ticks;
  double zero_share;  ///< of questions, and of answers
};

class StormModel;

/// Asks others and remembers what it asked. An answer that nobody asked for can only come of a
/// wrong guess.
class Asker final : public LogicalProcess<Asker, Tick, Question, Answer> {
 public:
  explicit Asker(const Shape& shape) : shape_(shape) {}
  void start(Context& context) override {
    context.schedule(context.self(), Duration::from_ticks(1 + context.self() % 3), Tick{});
  }
  void handle(Context& context, const Tick&) {
    Random& random = context.random();
    const auto peer = static_cast<LpId>(random.below(context.lp_count()));
    open_.emplace(++asked_, peer);
    context.schedule(peer, delay(context), Question{asked_, context.self(), 0});
    context.schedule(context.self(), some_ticks(context), Tick{});
  }
  void handle(Context& context, const Question& question) {
    digest_ = digest_ * 31 + question.id;
    context.schedule(question.from, delay(context), Answer{question.id, context.self(), 0});
  }
  void handle(Context& context, const Answer& answer) {
    const auto found = open_.find(answer.id);
    if (found == open_.end() || found->second != answer.from) {
      storm(context, answer);
      return;
    }
    open_.erase(found);
    digest_ = digest_ * 37 + answer.id;
  }
  void finish(FinalContext& context) override {
    context.state(digest_);
    context.state(static_cast<std::uint64_t>(open_.size()));
  }

 private:
  Duration some_ticks(Context& context) const {
    return Duration::from_ticks(1 + static_cast<std::int64_t>(context.random().below(
                                        static_cast<std::uint64_t>(shape_.spread_ticks))));
  }
  Duration delay(Context& context) const {
    return context.random().uniform() < shape_.zero_share ? Duration::zero() : some_ticks(context);
  }
  void storm(Context& context, const Answer& answer) {
    digest_ = ~digest_;
    for (int i = 0; i < 5; ++i) {
      const auto to = static_cast<LpId>((answer.from + static_cast<LpId>(i)) % context.lp_count());
      context.schedule(to, Duration::from_ticks(i), Question{answer.id, context.self(), 1});
    }
  }

  const Shape shape_;
  std::map<std::uint64_t, LpId> open_;
  std::uint64_t asked_ = 0, digest_ = 1;
};

class StormModel final : public Model {
 public:
  explicit StormModel(const Shape& shape) : shape_(shape) {}
  std::uint64_t lp_count() const override { return shape_.lps; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override {
    return std::make_unique<Asker>(shape_);
  }

 private:
  const Shape shape_;
};

TEST(Storms, MostOfWhatIsExecutedCommits) {
  std::uint64_t executed = 0, committed = 0;
  for (const Shape& shape : {Shape{20, 50, 0.6}, Shape{8, 50, 0.2}, Shape{12, 5, 0.9}}) {
    const StormModel model(shape);
    RunOptions options;
    options.until = Time::from_ticks(6000);
    const Outcome expected = run_model(model, "sequential", options);
    ASSERT_EQ(expected.result.end, RunEnd::completed) << expected.result.fault;
    for (const unsigned workers : {2u, 3u, 8u, 16u}) {
      for (const std::uint64_t budget : {0u, 2u << 20}) {
        options.workers = workers;
        options.memory_bytes = budget;
        const std::string what = std::to_string(shape.lps) + " LPs, " + std::to_string(workers) +
                                 " workers, budget " + std::to_string(budget);
        const Outcome actual = run_model(model, "timewarp", options);
        ASSERT_EQ(actual.result.end, RunEnd::completed) << what << ": " << actual.result.fault;
        EXPECT_EQ(actual.result.fingerprint, expected.result.fingerprint) << what;
        EXPECT_EQ(actual.result.committed, expected.result.committed) << what;
        EXPECT_LT(actual.result.executed, 10 * actual.result.committed) << what;
        executed += actual.result.executed;
        committed += actual.result.committed;
      }
    }
  }
  EXPECT_LT(executed, 5 * committed / 2) << "executed, against " << committed << " committed";
}

}  // namespace
}  // namespace orrery::testing
