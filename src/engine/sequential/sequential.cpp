// SPDX-License-Identifier: Apache-2.0
//
// The sequential engine, the reference for all others; run/loop/one_by_one.h executes the events.
// LPs lie in ordinary memory, since nothing is ever rolled back.
#include <memory>

#include "engine/sequential/settings.h"
#include "run/loop/one_by_one.h"

namespace orrery {
namespace {

class SequentialEngine final : public WorldEngine {
 public:
  World::Layout layout(const Model&, const CommunicationGraph&, const RunOptions& options,
                       std::vector<std::string>&) const override {
    World::Layout layout;
    if (options.get(sequential::kOnHeaps)) layout.arenas.emplace_back();
    return layout;
  }
  void advance(World& world, const RunOptions& options, const Goal& goal, RunControl& control,
               RunResult& result) override {
    advance_one_by_one(world, options, goal, control, result);
  }
};

const EngineRegistration registration{
    "sequential", "one event at a time in time order; the reference for all others",
    []() -> std::unique_ptr<Engine> { return std::make_unique<SequentialEngine>(); }};

}  // namespace
}  // namespace orrery
