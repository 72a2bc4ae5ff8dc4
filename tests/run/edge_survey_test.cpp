// SPDX-License-Identifier: Apache-2.0
//
// What a survey of a model's sends finds, in a run of its own and under the checker.
#include "run/survey/edge_survey.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "output/edge_view.h"
#include "run/promising_model.h"
#include "run/survey/survey_run.h"

namespace orrery::testing {
namespace {

constexpr SurveyLimits kNoLimit{std::numeric_limits<std::uint64_t>::max(),
                                std::numeric_limits<double>::infinity()};

RunOptions options_for(const Model& model) {
  RunOptions options;
  options.until = model.default_horizon();
  return options;
}

SurveyResult survey(const Model& model, const SurveyLimits& limits = kNoLimit) {
  RunControl control;
  return survey_run(model, options_for(model), limits, control);
}

/// LP 0 sends to LP 1 with delays 30, 29, 28, ... and to itself with 10; LP 1 answers after 7.
class PairModel : public PromisingModel {
 public:
  PairModel() : PromisingModel(2, 95) {
    script.on_start = [](Context& context, ScriptLp&) {
      if (context.self() == 0) context.schedule(0, ticks(0), Step{0, 0, 0});
    };
    script.on_step = [](Context& context, ScriptLp&, const Step& step) {
      if (context.self() == 1) return context.schedule(0, ticks(7), Step{1, 0, 0});
      if (step.kind == 1) return;
      context.schedule(0, ticks(10), Step{0, step.left + 1, 0});
      context.schedule(1, ticks(30 - step.left), Step{0, 0, 0});
    };
  }
};

TEST(DurationSurvey, FindsTheSmallestDelayOfTheSendsOfEachEvent) {
  const SurveyResult result = survey(PairModel());
  ASSERT_EQ(result.delays.size(), 1u);
  const EventDelays& step = result.delays[0];
  EXPECT_EQ(step.lp, "ScriptLp");
  EXPECT_EQ(step.event, "Step");
  EXPECT_EQ(step.events, result.events);
  EXPECT_EQ(step.duration, ticks(0));
  EXPECT_EQ(step.to_itself, ticks(10));
  EXPECT_EQ(step.to_others, ticks(7));
  EXPECT_EQ(step.longest(), ticks(7));
}

/// With the longest durations no send comes before the end of its event.
TEST(DurationSurvey, NotesDurations) {
  PairModel model;
  model.script.on_start = [](Context& context, ScriptLp&) {
    context.schedule_expanded(context.self(), ticks(1), ticks(4), Step{0, 0, 0});
  };
  model.script.on_step = [](Context& context, ScriptLp&, const Step& step) {
    if (step.left == 3) return;
    context.schedule_expanded(context.self(), ticks(6), ticks(3), Step{0, step.left + 1, 0});
  };
  const SurveyResult result = survey(model);
  ASSERT_EQ(result.end, RunEnd::completed) << result.fault;
  ASSERT_EQ(result.delays.size(), 1u);
  EXPECT_EQ(result.delays[0].duration, ticks(3));
  EXPECT_EQ(result.delays[0].longest(), ticks(6));
  EXPECT_FALSE(result.delays[0].to_others);
}

TEST(EdgeSurvey, FindsTheSmallestDelayOfEachKind) {
  const PairModel model;
  const SurveyResult result = survey(model);
  EXPECT_EQ(result.end, RunEnd::completed) << result.fault;
  EXPECT_EQ(result.reached, model.default_horizon());
  ASSERT_EQ(result.edges.size(), 2u);
  const EdgeKind& others = result.edges[0];
  EXPECT_EQ(others.sender, "ScriptLp");
  EXPECT_EQ(others.event, "Step");
  EXPECT_EQ(others.receiver, "ScriptLp");
  EXPECT_FALSE(others.to_itself);
  EXPECT_EQ(others.smallest_delay, ticks(7));
  EXPECT_EQ(others.declared, Duration::zero());
  EXPECT_EQ(others.slack, ticks(7));
  EXPECT_EQ(others.from, 1u);
  EXPECT_EQ(others.to, 0u);
  EXPECT_EQ(others.broken, 0u);
  const EdgeKind& own = result.edges[1];
  EXPECT_TRUE(own.to_itself);
  EXPECT_EQ(own.smallest_delay, ticks(0));
  EXPECT_EQ(own.sends, 11u);  // at start, at 0, 10, ... 90; the last is sent beyond the horizon
  EXPECT_NE(result.conclusion.find("lookahead() could promise up to 7 ns"), std::string::npos)
      << result.conclusion;
}

TEST(EdgeSurvey, ShowsThePairThatComesNearestToBreakingItsPromise) {
  PairModel model;
  model.graph = [](CommunicationGraph& graph) {
    graph.complete();
    graph.connect(0, 1, ticks(20));
    graph.connect(1, 0, ticks(3));
  };
  const SurveyResult result = survey(model);
  const EdgeKind& others = result.edges[0];
  EXPECT_EQ(others.smallest_delay, ticks(7));
  EXPECT_EQ(others.from, 0u);
  EXPECT_EQ(others.to, 1u);
  EXPECT_EQ(others.declared, ticks(20));
  EXPECT_EQ(others.slack, ticks(1));  // the tenth: 30 - 9
  EXPECT_NE(result.conclusion.find("keep what the model promises"), std::string::npos);
}

TEST(EdgeSurvey, ListsBrokenPromisesAndGoesOn) {
  PairModel model;
  model.graph = [](CommunicationGraph& graph) { graph.connect(0, 1, ticks(24)); };
  const SurveyResult result = survey(model);
  EXPECT_EQ(result.end, RunEnd::completed) << result.fault;
  EXPECT_EQ(result.broken, 3u);  // 23, 22, 21
  EXPECT_EQ(result.edges[0].broken, 3u);
  EXPECT_EQ(result.edges[0].slack, ticks(-3));
  ASSERT_EQ(result.breaches.size(), 3u);
  EXPECT_EQ(result.breaches[0],
            "LP 0, event Step at 70 ns (tick 70): it sent an event to LP 1 with the delay 23 ns, "
            "but the model promises at least 24 ns from LP 0 to LP 1 "
            "(CommunicationGraph::connect)");
  // As the engines tell it.
  const RunResult run = run_model(model, "sequential", {}).result;
  EXPECT_EQ(run.fault, "model fault in " + result.breaches[0]);
}

TEST(EdgeSurvey, ListsPairsWithoutAnEdgeAndNoMoreThanAFew) {
  PromisingModel model(8, 500);
  script_walks(model.script);
  model.graph = [](CommunicationGraph& graph) { graph.complete(); };
  const SurveyResult result = survey(model);
  EXPECT_GT(result.broken, SurveyResult::kMostBreaches);
  EXPECT_EQ(result.breaches.size(), SurveyResult::kMostBreaches);
  EXPECT_EQ(result.edges[0].declared, std::nullopt);
  EXPECT_NE(result.breaches[0].find("complete() and has no edge"), std::string::npos);
}

TEST(EdgeSurvey, CommitsWhatEnginesCommit) {
  PromisingModel model(16, 2000);
  script_walks(model.script);
  EXPECT_EQ(survey(model).events, run_model(model, "sequential", {}).result.committed);
}

TEST(EdgeSurvey, EndsAtItsLimits) {
  PromisingModel model(16, 1'000'000'000);
  script_walks(model.script);
  const SurveyResult by_events = survey(model, {5000, 1e9});
  EXPECT_EQ(by_events.end, RunEnd::paused);
  EXPECT_EQ(by_events.events, 5000u);
  const SurveyResult by_seconds = survey(model, {std::numeric_limits<std::uint64_t>::max(), 0.01});
  EXPECT_EQ(by_seconds.end, RunEnd::paused);
  EXPECT_LT(by_seconds.reached, model.default_horizon());
}

TEST(EdgeSurvey, EndsWhenItIsAskedTo) {
  PromisingModel model(16, 1'000'000'000);
  script_walks(model.script);
  RunControl control;
  control.stop_requested = true;
  EXPECT_EQ(survey_run(model, options_for(model), kNoLimit, control).end, RunEnd::interrupted);
}

TEST(EdgeSurvey, TellsFaultsAsEnginesDo) {
  PromisingModel model(16, 500);
  script_walks(model.script);
  const auto walk = model.script.on_step;
  model.script.on_step = [walk](Context& context, ScriptLp& self, const Step& step) {
    walk(context, self, step);
    if (context.now().ticks() > 200) throw std::runtime_error("the bridge is down");
  };
  const SurveyResult result = survey(model);
  EXPECT_EQ(result.end, RunEnd::fault);
  EXPECT_EQ(result.fault, run_model(model, "sequential", {}).result.fault);
  model.script.on_create = [](LpId id) {
    if (id == 3) throw std::runtime_error("no room");
  };
  EXPECT_EQ(survey(model).fault, run_model(model, "sequential", {}).result.fault);
}

TEST(EdgeSurvey, SaysWhereNothingCanBePromised) {
  PromisingModel model(2, 50);
  EXPECT_NE(survey(model).conclusion.find("no LP has sent to another LP"), std::string::npos);
  model.script.on_start = [](Context& context, ScriptLp&) {
    if (context.self() == 0) context.schedule(1, ticks(0), Step{});
  };
  EXPECT_NE(survey(model).conclusion.find("lookahead() cannot promise one"), std::string::npos);
}

/// The checker surveys what it commits.
TEST(EdgeSurvey, IsPartOfTheChecker) {
  PairModel model;
  model.ahead = ticks(2);
  const RunResult checked = run_model(model, "checker", {}).result;
  const std::vector<EdgeKind> alone = survey(model).edges;
  ASSERT_EQ(checked.edges.size(), alone.size());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(checked.edges[i].event, alone[i].event);
    EXPECT_EQ(checked.edges[i].sends, alone[i].sends);
    EXPECT_EQ(checked.edges[i].smallest_delay, alone[i].smallest_delay);
    EXPECT_EQ(checked.edges[i].declared, alone[i].declared);
    EXPECT_EQ(checked.edges[i].slack, alone[i].slack);
  }
  EXPECT_EQ(checked.edges[0].declared, ticks(2));
  EXPECT_TRUE(run_model(model, "sequential", {}).result.edges.empty());
}

TEST(EdgeSurvey, IsShownAsATable) {
  PairModel model;
  model.graph = [](CommunicationGraph& graph) { graph.connect(0, 1, ticks(20)); };
  const std::string text = edge_table(model, survey(model).edges, {});
  EXPECT_NE(text.find("ScriptLp  Step   ScriptLp     18            7 ns  20 ns (LP 0 to 1)   1 ns"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("itself"), std::string::npos);
  EXPECT_EQ(edge_table(model, {}, {}), "");
}

}  // namespace
}  // namespace orrery::testing
