// SPDX-License-Identifier: Apache-2.0
//
// The conservative engine: workers execute the events of one window of time after another, which is
// as long as the model's smallest delays permit (plan.h). Nothing is ever rolled back, so LPs lie in
// ordinary memory. This file chooses how to run; worker.h is the engine.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "engine/conservative/run.h"
#include "orrery/error.h"
#include "run/loop/one_by_one.h"
#include "run/options/model_checks.h"
#include "run/options/retired_option.h"
#include "run/world/placement.h"
#include "run/world/world_engine.h"

namespace orrery::conservative {
namespace {

constexpr const char* kName = "conservative";

const RetiredOption mode{"conservative-mode",
                         "the conservative engine executes windows of time with all its workers, "
                         "and --engine auto finds out whether one worker is faster"};

OptionList options() {
  return {&workers_option(), &bind_option(), &threads_option(), &partition_option(),
          &write_partition_option()};
}

/// A worker is a thread: with more workers than cores they would often wait for each other.
unsigned count_executing(const RunOptions& options, const Model& model) {
  return count_threads(options, count_workers(options, model));
}

/// At most one worker for each cluster of LPs, and, where LPs lie in heaps, for each arena.
unsigned count_workers_for(const World& world, const RunOptions& options) {
  const std::uint64_t clusters = world.promises().clusters().count(world.lp_count());
  const auto most = static_cast<unsigned>(
      std::min<std::uint64_t>(clusters, count_executing(options, world.model())));
  return world.on_heaps() ? std::min(most, world.parts()) : most;
}

/// The other engines that run models, for a message.
std::string other_engines(bool over_ranks) {
  std::vector<std::string> names;
  for (const EngineInfo& info : engines())
    if (info.use == EngineUse::results && info.name != kName &&
        (!over_ranks || info.make()->spans_ranks()))
      names.push_back(info.name);
  return listed(names, " or ");
}

class ConservativeEngine final : public WorldEngine {
 public:
  std::string refusal(const Model& model, const RunOptions& options) const override {
    const bool over_ranks = options.place.ranks > 1;
    if (count_executing(options, model) == 1 && !over_ranks) return {};
    if (lookahead_of(model) > Duration::zero()) return {};
    const CommunicationGraph graph = communication_of(model);
    if (graph.is_complete() && clusters_of(model, graph).count(model.lp_count()) > 1) return {};
    return fmt::format(
        "the model promises no smallest delay between its LPs, so no event is ever safe to execute "
        "in parallel; let lookahead() or communication() promise one, {}or use engine {}",
        over_ranks ? "" : "give it one worker, ", other_engines(over_ranks));
  }
  World::Layout layout(const Model& model, const CommunicationGraph& graph,
                       const RunOptions& options, std::vector<std::string>& notes) const override {
    const unsigned threads = count_executing(options, model);
    const unsigned workers = count_workers(options, model);
    if (workers > threads) notes.push_back(note_of_workers(threads, workers));
    return place_lps(model, graph, options, threads, notes, CutRule::long_delays);
  }
  bool spans_ranks() const override { return true; }
  bool keeps_clusters() const override { return true; }
  /// False if all LPs are one cluster, which one worker has to execute.
  bool may_pay(const World& world) const override {
    return world.promises().clusters().count(world.lp_count()) > 1;
  }
  void advance(World& world, const RunOptions& options, const Goal& goal, RunControl& control,
               RunResult& result) override {
    const unsigned workers = count_workers_for(world, options);
    if (control.ranks == nullptr && workers == 1) {
      advance_one_by_one(world, options, goal, control, result);
      result.account = "one worker executed all events, in the order of their keys";
      return;
    }
    ConservativeRun(world, options, goal, workers, control).advance(result);
  }
};

const EngineRegistration registration{
    kName, "executes windows of time in parallel, as long as the model's smallest delays",
    []() -> std::unique_ptr<Engine> { return std::make_unique<ConservativeEngine>(); }, options};

}  // namespace
}  // namespace orrery::conservative
