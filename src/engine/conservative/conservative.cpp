// SPDX-License-Identifier: Apache-2.0
//
// The conservative engine: workers promise each other how far they have come, and execute the
// events that are safe by these promises and the model's smallest delays (board.h in src/transport
// cites the paper). Nothing is ever rolled back, so LPs lie in ordinary memory. This file chooses
// how to run; worker.h is the engine.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/conservative/run.h"
#include "engine/conservative/settings.h"
#include "engine/conservative/tempo.h"
#include "orrery/error.h"
#include "pending/engine_set.h"
#include "run/loop/one_by_one.h"
#include "run/options/model_checks.h"
#include "run/world/placement.h"
#include "run/world/world_engine.h"

namespace orrery::conservative {
namespace {

constexpr const char* kName = "conservative";

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
    if (options.place.ranks > 1 && Settings::of(options).mode == Mode::in_place)
      throw UsageError(
          "--conservative-mode in-place lets one worker execute everything, which is impossible "
          "over "
          "ranks; leave the option away, or run in one process");
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
    const Settings settings = Settings::of(options);
    const unsigned workers = count_workers_for(world, options);
    if (control.ranks == nullptr && (workers == 1 || settings.mode == Mode::in_place)) {
      advance_one_by_one(world, options, goal, control, result);
      result.account = "one worker executed all events, in the order of their keys";
      return;
    }
    Tempo& tempo = tempo_for(world, goal, settings, control);
    using Pending = pending::EngineSet<PlainEvent>;
    ConservativeRun<Pending>(world, options, goal, settings, workers, tempo, control)
        .advance(result);
  }

 private:
  Tempo& tempo_for(const World& world, const Goal& goal, const Settings& settings,
                   const RunControl& control) {
    const bool chooses = settings.mode == Mode::automatic && !goal.is_a_slice() &&
                         control.ranks == nullptr && !world.executions().any_stays_on_thread();
    if (!tempo_ || tempo_->chooses() != chooses) tempo_.emplace(chooses);
    return *tempo_;
  }

  std::optional<Tempo> tempo_;
};

const EngineRegistration registration{
    kName, "executes events that are safe by the model's smallest delays",
    []() -> std::unique_ptr<Engine> { return std::make_unique<ConservativeEngine>(); }, options};

}  // namespace
}  // namespace orrery::conservative
