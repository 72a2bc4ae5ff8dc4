// SPDX-License-Identifier: Apache-2.0
#include "run/options/model_checks.h"

#include <fmt/format.h>

#include <cmath>

#include "core/duration_text.h"
#include "core/float_environment.h"
#include "core/model_access.h"
#include "memory/model_heap.h"
#include "orrery/error.h"
#include "run/containment/activity.h"
#include "run/containment/lp_names.h"

namespace orrery {
namespace {

/// What is wrong with an edge, as text after "the model's communication graph "; empty if nothing
/// is.
std::string mistake_in(const CommunicationGraph::Edge& edge, const Model& model,
                       std::uint64_t lps) {
  const std::string pair =
      fmt::format("from {} to {}", lp_text(model, edge.from), lp_text(model, edge.to));
  if (edge.from >= lps || edge.to >= lps)
    return fmt::format("has an edge {}, but the model has LPs 0 to {}", pair, lps - 1);
  if (edge.weight == 0)
    return fmt::format("gives the edge {} the weight 0; a weight is 1 or more", pair);
  if (edge.promised && edge.minimum_delay < Duration::zero()) {
    return fmt::format("promises the negative delay {} {}; a minimum delay is 0 or more",
                       duration_text(edge.minimum_delay, model.tick_seconds()), pair);
  }
  return fmt::format(
      "promises a delay from {} to itself; an LP may always send to itself, so there is nothing "
      "to promise: leave this edge out",
      lp_text(model, edge.from));
}

bool is_sound(const CommunicationGraph::Edge& edge, std::uint64_t lps) {
  const bool exists = edge.from < lps && edge.to < lps && edge.weight > 0;
  return exists &&
         (!edge.promised || (edge.minimum_delay >= Duration::zero() && edge.from != edge.to));
}

void check_tick(const Model& model) {
  const double tick = call_model("tick_seconds()", [&] { return model.tick_seconds(); });
  if (std::isfinite(tick) && tick > 0) return;
  throw ModelFault(fmt::format(
      "the model's tick_seconds() is {}; a tick is longer than 0 seconds, such as 1e-9", tick));
}

}  // namespace

void prepare_model(Model& model, std::uint64_t seed) {
  ModelAccess::set_seed(model, seed);
  const FloatGuard floats;
  call_model("prepare()", [&] {
    const memory::ModelScope scope;
    model.prepare();
  });
  check_lp_count(model);
  check_tick(model);
  if (ThreadWatch::signal_is_taken())
    throw ModelFault(
        "the model handles the signal SIGURG, with which Orrery interrupts handlers and asks "
        "threads "
        "for their state; use another signal, such as SIGRTMIN");
}

void check_lp_count(const Model& model) {
  const std::uint64_t lps = call_model("lp_count()", [&] { return model.lp_count(); });
  constexpr std::uint64_t kMostLps = (std::uint64_t{1} << 32) - 2;
  if (lps >= 1 && lps <= kMostLps) return;
  throw ModelFault(
      fmt::format("the model has {} logical processes; 1 to {} are possible", lps, kMostLps));
}

Time horizon_of(const Model& model) {
  const Time horizon = call_model("default_horizon()", [&] { return model.default_horizon(); });
  if (horizon >= Time::zero()) return horizon;
  throw ModelFault(fmt::format(
      "the model's default_horizon() is {}; a run begins at 0, and its horizon is not before that",
      duration_text(horizon - Time::zero(), model.tick_seconds())));
}

Duration lookahead_of(const Model& model) {
  const Duration lookahead = call_model("lookahead()", [&] { return model.lookahead(); });
  if (lookahead >= Duration::zero()) return lookahead;
  throw UsageError(fmt::format("the model's lookahead() is {}; a smallest delay is 0 or more",
                               duration_text(lookahead, model.tick_seconds())));
}

CommunicationGraph communication_of(const Model& model) {
  CommunicationGraph graph;
  call_model("communication()", [&] { model.communication(graph); });
  const std::uint64_t lps = model.lp_count();
  for (const CommunicationGraph::Edge& edge : graph.edges()) {
    if (!is_sound(edge, lps)) [[unlikely]]
      throw UsageError("the model's communication graph " + mistake_in(edge, model, lps));
  }
  return graph;
}

std::unique_ptr<LogicalProcessBase> create_lp(const Model& model, LpId id) {
  const ModelCall call("create()", id);
  const FloatGuard floats;
  auto lp = model.create(id);
  if (lp == nullptr) throw ModelFault("create() returned no LP");
  return lp;
}

}  // namespace orrery
