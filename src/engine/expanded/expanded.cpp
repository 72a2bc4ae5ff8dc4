// SPDX-License-Identifier: Apache-2.0
//
// The expanded-event engine, after Horizon: G. Kunz, O. Landsiedel, S. Goetz, K. Wehrle, J. Gross
// and F. Naghibi, "Expanding the event horizon in parallelized network simulations", MASCOTS 2010;
// G. Kunz, M. Stoffers, J. Gross and K. Wehrle, "Runtime efficient event scheduling in
// multi-threaded network simulation", SIMUTools 2011. This file chooses how to run; run.h is the
// engine.
#include <algorithm>

#include "engine/expanded/run.h"
#include "engine/expanded/settings.h"
#include "run/world/world_engine.h"

namespace orrery::expanded {
namespace {

class ExpandedEngine final : public WorldEngine {
 public:
  World::Layout layout(const Model& model, const CommunicationGraph&, const RunOptions& options,
                       std::vector<std::string>& notes) const override {
    if (const std::string note = Settings::of(options).note; !note.empty()) notes.push_back(note);
    count_workers(options, model);
    return {};
  }
  /// False for a world without durations, which this engine would execute in place.
  bool may_pay(const World& world) const override {
    return std::any_of(world.pending.begin(), world.pending.end(),
                       [](const EventList& list) { return list.has_durations(); });
  }
  void advance(World& world, const RunOptions& options, const Goal& goal, RunControl& control,
               RunResult& result) override {
    const Settings settings = Settings::of(options);
    unsigned workers = count_workers(options, world.model());
    if (world.on_heaps()) workers = std::min(workers, world.parts());  // an arena for each
    ExpandedRun(world, options, goal, settings, workers, control).advance(result);
  }
};

const EngineRegistration registration{
    "expanded", "events with durations: what overlaps in simulated time runs in parallel",
    []() -> std::unique_ptr<Engine> { return std::make_unique<ExpandedEngine>(); }, options};

}  // namespace
}  // namespace orrery::expanded
