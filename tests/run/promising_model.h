// SPDX-License-Identifier: Apache-2.0
//
// A scripted model (engine_cases.h) that makes promises of its sends.
#pragma once

#include <functional>
#include <memory>

#include "run/engine_cases.h"

namespace orrery::testing {

class PromisingModel : public Model {
 public:
  explicit PromisingModel(std::uint64_t lps, std::int64_t horizon_ticks = 1000)
      : script(lps, horizon_ticks) {}

  ScriptModel script;
  std::function<void(CommunicationGraph&)> graph;
  Duration ahead;

  std::uint64_t lp_count() const override { return script.lp_count(); }
  Time default_horizon() const override { return script.default_horizon(); }
  std::unique_ptr<LogicalProcessBase> create(LpId id) const override { return script.create(id); }
  Duration lookahead() const override { return ahead; }
  void communication(CommunicationGraph& into) const override {
    if (graph) graph(into);
  }
};

}  // namespace orrery::testing
