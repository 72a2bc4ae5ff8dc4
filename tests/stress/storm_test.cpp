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
#include "equality/asker.h"
#include "equality/run_model.h"
#include "orrery/orrery.h"
#include "sanitizers.h"

namespace orrery::testing {
namespace {

using Shape = AskerShape;

class StormLp final : public Asker {
 public:
  using Asker::Asker;

 private:
  void bear_unasked(Context& context, const Answer& answer) override {
    for (int i = 0; i < 5; ++i) {
      const auto to = static_cast<LpId>((answer.from + static_cast<LpId>(i)) % context.lp_count());
      context.schedule(to, Duration::from_ticks(i), Question{answer.id, context.self(), 1});
    }
  }
};

class StormModel final : public Model {
 public:
  explicit StormModel(const Shape& shape) : shape_(shape) {}
  std::uint64_t lp_count() const override { return shape_.lps; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override {
    return std::make_unique<StormLp>(shape_);
  }

 private:
  const Shape shape_;
};

TEST(Storms, MostOfWhatIsExecutedCommits) {
  std::uint64_t executed = 0, committed = 0;
  for (const Shape& shape : {Shape{20, 50, 0.6}, Shape{8, 50, 0.2}, Shape{12, 5, 0.9}}) {
    const StormModel model(shape);
    RunOptions options;
    options.until = Time::from_ticks(kSanitizers ? 1500 : 6000);
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
