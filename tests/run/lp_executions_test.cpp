// SPDX-License-Identifier: Apache-2.0
//
// What a model says of how its LPs may be executed, and the delays into those that must not roll
// back.
#include "run/execution/lp_executions.h"

#include <gtest/gtest.h>

#include <limits>

#include "run/options/model_checks.h"
#include "run/promising_model.h"

namespace orrery::testing {
namespace {

/// LPs 1 and 3 are confined, 4 is committed and stays on its thread.
class MixedModel : public PromisingModel {
 public:
  MixedModel() : PromisingModel(6) {}
  LpExecution execution_of(LpId id) const override {
    if (fails) throw std::runtime_error("no such table");
    return id == 4       ? LpExecution::committed
           : id % 2 == 1 ? (id < 5 ? LpExecution::confined : LpExecution::speculative)
                         : LpExecution::speculative;
  }
  bool stays_on_thread(LpId id) const override { return id == 4; }
  bool fails = false;
};

LpExecutions executions_of(const Model& model) {
  return LpExecutions(model, Promises(model, communication_of(model)));
}

TEST(LpExecutions, MostModelsHaveNoTable) {
  const PromisingModel model(6);
  const LpExecutions executions = executions_of(model);
  EXPECT_TRUE(executions.all_speculative());
  EXPECT_FALSE(executions.any_committed());
  EXPECT_FALSE(executions.any_stays_on_thread());
  EXPECT_EQ(executions.of(3), LpExecution::speculative);
  EXPECT_FALSE(executions.stays_on_thread(3));
  EXPECT_EQ(text_of(executions), "");
}

TEST(LpExecutions, KindsAreCounted) {
  const LpExecutions executions = executions_of(MixedModel());
  EXPECT_FALSE(executions.all_speculative());
  EXPECT_EQ(executions.of(0), LpExecution::speculative);
  EXPECT_EQ(executions.of(1), LpExecution::confined);
  EXPECT_EQ(executions.of(4), LpExecution::committed);
  EXPECT_TRUE(executions.stays_on_thread(4));
  EXPECT_FALSE(executions.stays_on_thread(1));
  EXPECT_TRUE(executions.any_committed());
  EXPECT_TRUE(executions.any_stays_on_thread());
  EXPECT_EQ(text_of(executions), "2 confined, 1 committed");
}

TEST(LpExecutions, LookaheadIsTheSmallestDelayIntoAnLp) {
  MixedModel model;
  EXPECT_EQ(executions_of(model).lookahead_into(1), Duration::zero());
  model.ahead = ticks(3);
  EXPECT_EQ(executions_of(model).lookahead_into(1), ticks(3));
  // Others than LP 0 may still send as soon as lookahead() says.
  model.graph = [](CommunicationGraph& graph) { graph.connect(0, 1, ticks(8)); };
  EXPECT_EQ(executions_of(model).lookahead_into(1), ticks(3));
  model.graph = [](CommunicationGraph& graph) {
    graph.complete();
    graph.connect(0, 1, ticks(8));
    graph.connect(2, 1, ticks(6));
    graph.connect(1, 4, ticks(2));  // lookahead() says more
  };
  EXPECT_EQ(executions_of(model).lookahead_into(1), ticks(6));
  EXPECT_EQ(executions_of(model).lookahead_into(4), ticks(3));
  // Nobody sends to it.
  EXPECT_EQ(executions_of(model).lookahead_into(3).ticks(),
            std::numeric_limits<std::int64_t>::max());
}

TEST(LpExecutions, AFailureIsTheModels) {
  MixedModel model;
  model.fails = true;
  EXPECT_THROW(executions_of(model), ModelFault);
}

}  // namespace
}  // namespace orrery::testing
