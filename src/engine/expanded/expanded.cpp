// SPDX-License-Identifier: Apache-2.0
//
// The expanded-event engine, after Horizon: G. Kunz, O. Landsiedel, S. Goetz, K. Wehrle, J. Gross
// and F. Naghibi, "Expanding the event horizon in parallelized network simulations", MASCOTS 2010;
// G. Kunz, M. Stoffers, J. Gross and K. Wehrle, "Runtime efficient event scheduling in
// multi-threaded network simulation", SIMUTools 2011. This file chooses how to run; run.h is the
// engine.
#include "engine/expanded/run.h"
#include "engine/expanded/settings.h"
#include "pending/registry.h"
#include "run/engine.h"

namespace orrery::expanded {
namespace {

class ExpandedEngine final : public Engine {
 public:
  RunResult run(const Model& model, const RunOptions& options, RunControl& control) override {
    check_options(model, options);
    const Settings settings = Settings::of(options);
    const unsigned workers = count_workers(options, model);
    return pending::with_pending_set<Event>(options.pending, [&]<class Pending>() {
      return Run<Pending>(model, options, settings, workers, control).run();
    });
  }
};

const EngineRegistration registration{
    "expanded", "events with durations: what overlaps in simulated time runs in parallel",
    []() -> std::unique_ptr<Engine> { return std::make_unique<ExpandedEngine>(); }, options};

}  // namespace
}  // namespace orrery::expanded
