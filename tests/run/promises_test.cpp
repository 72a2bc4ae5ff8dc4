// SPDX-License-Identifier: Apache-2.0
//
// What a model promises of its sends: how it is kept, that every engine holds sends against it, and
// refuses with the same sentence, and what is no sense to promise.
#include "run/execution/promises.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "equality/run_model.h"
#include "run/engine_cases.h"
#include "run/options/model_checks.h"
#include "run/promising_model.h"

namespace orrery {
namespace {

using testing::all_engines;
using testing::EngineCase;
using testing::expect_same;
using testing::OnEveryEngine;
using testing::Outcome;
using testing::PromisingModel;
using testing::run_model;
using testing::ScriptLp;
using testing::ScriptModel;
using testing::Step;
using testing::ticks;

Promises promises_of(const Model& model) {
  return Promises(model, communication_of(model));
}

// The table.

TEST(Promises, OfAModelThatMakesNone) {
  const PromisingModel model(4);
  const Promises promises = promises_of(model);
  EXPECT_TRUE(promises.empty());
  EXPECT_EQ(promises.free_delay(), ticks(0));
  EXPECT_EQ(promises.minimum_delay(0, 1), ticks(0));
  EXPECT_TRUE(promises.allow(0, 1, ticks(0)));
  EXPECT_TRUE(promises.edges_from(3).empty());
  EXPECT_EQ(promises.bytes(), 0u);
}

TEST(Promises, HintsPromiseNothing) {
  PromisingModel model(4);
  model.graph = [](CommunicationGraph& graph) {
    graph.connect(0, 1);
    graph.connect(1, 2, 7);
  };
  const Promises promises = promises_of(model);
  EXPECT_TRUE(promises.empty());
  EXPECT_TRUE(promises.allow(2, 3, ticks(0)));
  EXPECT_EQ(promises.bytes(), 0u);
}

TEST(Promises, LookaheadIsForAllPairsOfDifferentLps) {
  PromisingModel model(4);
  model.ahead = ticks(5);
  const Promises promises = promises_of(model);
  EXPECT_EQ(promises.free_delay(), ticks(5));
  EXPECT_TRUE(promises.allow(0, 3, ticks(5)));
  EXPECT_FALSE(promises.allow(0, 3, ticks(4)));
  EXPECT_TRUE(promises.allow(2, 2, ticks(0)));
  EXPECT_EQ(promises.minimum_delay(2, 2), ticks(0));
}

TEST(Promises, AreDirectedAndTheLargestOfAPairCounts) {
  PromisingModel model(4);
  model.ahead = ticks(2);
  model.graph = [](CommunicationGraph& graph) {
    graph.connect(0, 1, ticks(10));
    graph.connect(0, 1, ticks(30), 5);
    graph.connect(0, 1, ticks(20));
    graph.connect(0, 2, ticks(1));  // less than lookahead()
  };
  const Promises promises = promises_of(model);
  EXPECT_EQ(promises.minimum_delay(0, 1), ticks(30));
  EXPECT_EQ(promises.minimum_delay(1, 0), ticks(2));
  EXPECT_EQ(promises.minimum_delay(0, 2), ticks(2));
  EXPECT_EQ(promises.edge_count(), 1u);
  EXPECT_EQ(promises.free_delay(), ticks(30));
  EXPECT_FALSE(promises.complete());
}

TEST(Promises, CompleteExcludesAllOtherPairs) {
  PromisingModel model(4);
  model.ahead = ticks(2);
  model.graph = [](CommunicationGraph& graph) {
    graph.complete();
    graph.connect(0, 1);  // both ways
    graph.connect(1, 2, ticks(7));
  };
  const Promises promises = promises_of(model);
  EXPECT_TRUE(promises.complete());
  EXPECT_EQ(promises.minimum_delay(0, 1), ticks(2));
  EXPECT_EQ(promises.minimum_delay(1, 0), ticks(2));
  EXPECT_EQ(promises.minimum_delay(1, 2), ticks(7));
  EXPECT_EQ(promises.minimum_delay(2, 1), std::nullopt);
  EXPECT_FALSE(promises.allow(2, 1, Duration::max() - ticks(1)));
  EXPECT_TRUE(promises.allow(3, 3, ticks(0)));
}

TEST(Promises, CompleteWithoutEdgesLetsNobodySend) {
  PromisingModel model(3);
  model.graph = [](CommunicationGraph& graph) { graph.complete(); };
  const Promises promises = promises_of(model);
  EXPECT_FALSE(promises.empty());
  EXPECT_EQ(promises.minimum_delay(0, 1), std::nullopt);
  EXPECT_FALSE(promises.allow(1, 2, ticks(100)));
}

/// Rows of all lengths against a map.
TEST(Promises, AreFoundAmongMany) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    const LpId lps = 2 + random() % 300;
    std::map<std::pair<LpId, LpId>, Duration> expected;
    PromisingModel model(lps);
    model.graph = [&](CommunicationGraph& graph) {
      if (seed % 2 == 0) graph.complete();
      for (std::uint32_t i = 0; i < 4000; ++i) {
        const LpId from = random() % (1 + random() % lps), to = random() % lps;
        if (from == to) continue;
        const Duration least = ticks(random() % 50 + 1);
        graph.connect(from, to, least);
        Duration& largest = expected[{from, to}];
        largest = std::max(largest, least);
      }
    };
    const Promises promises = promises_of(model);
    std::size_t visited = 0;
    promises.for_each_edge([&](LpId from, const Promises::Edge& edge) {
      ++visited;
      EXPECT_EQ(expected.at({from, edge.to}), edge.minimum_delay);
    });
    EXPECT_EQ(visited, expected.size());
    EXPECT_EQ(promises.edge_count(), expected.size());
    for (LpId from = 0; from < lps; ++from) {
      for (LpId to = 0; to < lps; ++to) {
        const auto found = expected.find({from, to});
        std::optional<Duration> least;
        if (found != expected.end()) {
          least = found->second;
        } else if (from == to || seed % 2 != 0) {
          least = ticks(0);
        }
        ASSERT_EQ(promises.minimum_delay(from, to), least) << from << " to " << to;
        ASSERT_EQ(promises.allow(from, to, ticks(25)), least && *least <= ticks(25));
      }
    }
  }
}

// On every engine.

class BrokenPromises : public OnEveryEngine {
 protected:
  /// Ends with a fault that has these parts, the same as on the sequential engine.
  static void expect_fault(const Model& model, const std::vector<std::string>& parts) {
    const Outcome expected = reference(model), actual = run(model);
    ASSERT_EQ(actual.result.end, RunEnd::fault) << GetParam();
    for (const std::string& part : parts)
      EXPECT_NE(actual.result.fault.find(part), std::string::npos) << actual.result.fault;
    expect_same(expected, actual, GetParam().text());
  }
  static void expect_refused(const Model& model, const std::string& sentence) {
    try {
      run(model);
      FAIL() << "no exception on " << GetParam();
    } catch (const UsageError& error) {
      EXPECT_EQ(std::string(error.what()), sentence) << GetParam();
    }
  }
};

void ring(CommunicationGraph& graph, LpId lps, Duration least) {
  for (LpId id = 0; id < lps; ++id) graph.connect(id, (id + 1) % lps, least);
}

/// All 16 LPs send to the next, after 10 ticks; from tick 500 on LP 3 after `odd`.
class RingModel : public PromisingModel {
 public:
  explicit RingModel(std::int64_t odd = 10, std::int64_t horizon_ticks = 700)
      : PromisingModel(16, horizon_ticks) {
    script.on_start = [](Context& context, ScriptLp&) {
      context.schedule(context.self(), ticks(0), Step{0, 0, context.self()});
    };
    script.on_step = [odd](Context& context, ScriptLp&, const Step& step) {
      const bool is_odd = context.self() == 3 && context.now().ticks() >= 500;
      context.schedule((context.self() + 1) % 16, ticks(is_odd ? odd : 10),
                       Step{0, 0, step.value * 3 + 1});
    };
  }
};

TEST_P(BrokenPromises, ByOneTick) {
  RingModel model(9);
  model.graph = [](CommunicationGraph& graph) { ring(graph, 16, ticks(10)); };
  expect_fault(model, {"model fault in LP 3, event Step at ",
                       "it sent an event to LP 4 with the delay 9 ns, but the model promises at "
                       "least 10 ns from LP 3 to LP 4 (CommunicationGraph::connect)"});
}

TEST_P(BrokenPromises, ByOneTickOfTheLookahead) {
  RingModel model(9);
  model.ahead = ticks(10);
  expect_fault(model, {"LP 3, event Step",
                       "it sent an event to LP 4 with the delay 9 ns, but Model::lookahead() "
                       "promises at least 10 ns to every other LP"});
}

TEST_P(BrokenPromises, ByASendThatAnEdgeDoesNotForbidButTheLookaheadDoes) {
  RingModel model(6);
  model.ahead = ticks(7);
  model.graph = [](CommunicationGraph& graph) { ring(graph, 16, ticks(5)); };
  expect_fault(model, {"with the delay 6 ns, but Model::lookahead() promises at least 7 ns"});
}

TEST_P(BrokenPromises, ByAPairThatHasNoEdge) {
  RingModel model;
  model.graph = [](CommunicationGraph& graph) {
    graph.complete();
    for (LpId id = 0; id < 16; ++id)
      if (id != 7) graph.connect(id, (id + 1) % 16, ticks(10));
  };
  expect_fault(model, {"LP 7, event Step",
                       "it sent an event to LP 8, but the model's communication graph is "
                       "complete() and has no edge from LP 7 to LP 8"});
}

TEST_P(BrokenPromises, AgainstItsDirection) {
  RingModel model;
  model.graph = [](CommunicationGraph& graph) {
    graph.complete();
    for (LpId id = 0; id < 16; ++id) graph.connect((id + 1) % 16, id, ticks(1));
  };
  expect_fault(model, {"has no edge from LP 0 to LP 1"});
}

TEST_P(BrokenPromises, AtTheStart) {
  PromisingModel model(16, 700);
  model.script.on_start = [](Context& context, ScriptLp&) {
    if (context.self() == 11) context.schedule(2, ticks(3), Step{});
  };
  model.graph = [](CommunicationGraph& graph) { graph.connect(11, 2, ticks(4)); };
  expect_fault(model, {"LP 11, start of the run", "at least 4 ns from LP 11 to LP 2"});
}

/// A send that is dropped, because nobody will handle it, is held against the promises all the
/// same: whether a model is right must not depend on the horizon.
TEST_P(BrokenPromises, BeyondTheHorizon) {
  RingModel model(9, 505);
  model.graph = [](CommunicationGraph& graph) { ring(graph, 16, ticks(10)); };
  expect_fault(model, {"LP 3, event Step at ", "at least 10 ns from LP 3 to LP 4"});
}

TEST_P(BrokenPromises, NotByWhatIsExactlyPromised) {
  RingModel model;
  model.ahead = ticks(3);
  model.graph = [](CommunicationGraph& graph) {
    graph.complete();
    ring(graph, 16, ticks(10));
  };
  expect_completed(model);
}

/// An LP may always send to itself, and events at one instant keep their order.
TEST_P(BrokenPromises, NotBySendsToOneself) {
  RingModel model;
  const auto step = model.script.on_step;
  model.script.on_step = [step](Context& context, ScriptLp& self, const Step& what) {
    if (what.kind != 0) return;
    step(context, self, what);
    context.schedule(context.self(), ticks(0), Step{1, 0, what.value});
  };
  model.ahead = ticks(10);
  model.graph = [](CommunicationGraph& graph) {
    graph.complete();
    ring(graph, 16, ticks(10));
  };
  expect_completed(model);
}

/// Many LPs, each with delays of its own, some of them broken at a random moment: completed runs
/// and faults are the same everywhere.
TEST_P(BrokenPromises, OfARandomModel) {
  for (std::uint64_t seed = 1; seed <= (testing::kSanitizers ? 3u : 6u); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    constexpr LpId kLps = 40;
    PromisingModel model(kLps, 600);
    const auto least = [seed](LpId from, LpId to) {
      return ticks(static_cast<std::int64_t>((from * 7 + to * 13 + seed) % 9));
    };
    const auto has_edge = [](LpId from, LpId to) { return from != to && (from + to) % 3 != 0; };
    model.ahead = ticks(seed % 3 == 0 ? 2 : 0);
    model.graph = [=](CommunicationGraph& graph) {
      if (seed % 2 == 0) graph.complete();
      for (LpId from = 0; from < kLps; ++from)
        for (LpId to = 0; to < kLps; ++to)
          if (has_edge(from, to)) graph.connect(from, to, least(from, to));
    };
    model.script.on_start = [](Context& context, ScriptLp&) {
      context.schedule(context.self(), ticks(context.self() % 5), Step{});
    };
    const std::int64_t broken_at = seed % 3 == 1 ? 400 : 10'000;
    const Duration ahead = model.ahead;
    model.script.on_step = [=](Context& context, ScriptLp&, const Step& step) {
      auto& random = context.random();
      LpId to = static_cast<LpId>(random.below(kLps));
      if (!has_edge(context.self(), to)) to = context.self();
      const Duration floor =
          to == context.self() ? ticks(1) : std::max(least(context.self(), to), ahead);
      Duration delay = floor + ticks(random.integer(0, 2));
      if (context.now().ticks() >= broken_at && floor > ticks(1)) delay = floor - ticks(1);
      context.schedule(to, delay + ticks(delay == ticks(0) ? 1 : 0), Step{0, 0, step.value + 1});
    };
    const Outcome expected = reference(model);
    EXPECT_EQ(expected.result.end, broken_at < 600 ? RunEnd::fault : RunEnd::completed)
        << expected.result.fault;
    expect_same(expected, run(model), GetParam().text());
  }
}

// What makes no sense, before anything is made.

TEST_P(BrokenPromises, GraphsThatMeanNothingAreRefused) {
  PromisingModel model(8);
  model.script.on_create = [](LpId) { ADD_FAILURE() << "an LP was made, on " << GetParam(); };
  model.graph = [](CommunicationGraph& graph) { graph.connect(3, 8); };
  expect_refused(model,
                 "the model's communication graph has an edge from LP 3 to LP 8, but the model has "
                 "LPs 0 to 7");
  model.graph = [](CommunicationGraph& graph) { graph.connect(9, 1, ticks(4)); };
  expect_refused(model,
                 "the model's communication graph has an edge from LP 9 to LP 1, but the model has "
                 "LPs 0 to 7");
  model.graph = [](CommunicationGraph& graph) { graph.connect(1, 2, 0); };
  expect_refused(model,
                 "the model's communication graph gives the edge from LP 1 to LP 2 the weight 0; a "
                 "weight is 1 or more");
  model.graph = [](CommunicationGraph& graph) { graph.connect(1, 2, ticks(3), 0); };
  expect_refused(model,
                 "the model's communication graph gives the edge from LP 1 to LP 2 the weight 0; a "
                 "weight is 1 or more");
  model.graph = [](CommunicationGraph& graph) { graph.connect(1, 2, ticks(-3)); };
  expect_refused(model,
                 "the model's communication graph promises the negative delay -3 ns from LP 1 to "
                 "LP 2; a minimum delay is 0 or more");
  model.graph = [](CommunicationGraph& graph) { graph.connect(5, 5, ticks(3)); };
  expect_refused(model,
                 "the model's communication graph promises a delay from LP 5 to itself; an LP may "
                 "always send to itself, so there is nothing to promise: leave this edge out");
  model.graph = nullptr;
  model.ahead = ticks(-1);
  expect_refused(model, "the model's lookahead() is -1 ns; a smallest delay is 0 or more");
}

TEST_P(BrokenPromises, AHintFromAnLpToItselfIsNone) {
  RingModel model;
  model.graph = [](CommunicationGraph& graph) { graph.connect(5, 5, 3); };
  expect_completed(model);
}

ORRERY_ON_EVERY_ENGINE(BrokenPromises);

/// The checker is no engine for results; its sentence is the same all the same.
TEST(BrokenPromisesOfTheChecker, HaveTheSameSentence) {
  RingModel model(9);
  model.graph = [](CommunicationGraph& graph) { ring(graph, 16, ticks(10)); };
  const Outcome expected = run_model(model, "sequential", {});
  ASSERT_EQ(expected.result.end, RunEnd::fault);
  EXPECT_EQ(run_model(model, "checker", {}).result.fault, expected.result.fault);
  model.graph = [](CommunicationGraph& graph) { graph.connect(3, 16); };
  EXPECT_THROW(run_model(model, "checker", {}), UsageError);
}

/// Where placement needs the graph, too, it is asked for once.
TEST(Promises, TheGraphIsAskedForOnceARun) {
  for (const char* engine : {"sequential", "timewarp", "expanded", "checker"}) {
    RingModel model;
    int asked = 0;
    model.graph = [&asked](CommunicationGraph& graph) {
      ++asked;
      ring(graph, 16, ticks(10));
    };
    RunOptions options;
    options.workers = std::string(engine) == "sequential" ? 1 : 2;
    options.set(timewarp::kBalance, false);
    run_model(model, engine, options);
    EXPECT_EQ(asked, 1) << engine;
  }
}

TEST(Promises, WhatTheGraphThrowsIsTheModelsFault) {
  PromisingModel model(4);
  model.graph = [](CommunicationGraph&) { throw std::runtime_error("the map is lost"); };
  try {
    run_model(model, "sequential", {});
    FAIL() << "no exception";
  } catch (const ModelFault& fault) {
    EXPECT_EQ(std::string(fault.what()), "model fault in communication(): the map is lost");
  }
}

}  // namespace
}  // namespace orrery
