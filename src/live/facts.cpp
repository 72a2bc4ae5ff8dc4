// SPDX-License-Identifier: Apache-2.0
#include "live/facts.h"

#include "live/lp_map.h"
#include "output/report.h"
#include "run/containment/faults.h"
#include "run/containment/lp_names.h"

namespace orrery::live {

namespace {

/// Nothing if no LP has a name.
std::vector<std::string> names_for_map(const Model& model) {
  std::vector<std::string> names;
  if (model.lp_count() > LpMap::kMostCells) return names;
  bool any = false;
  for (LpId lp = 0; lp < model.lp_count(); ++lp) {
    names.push_back(lp_name(model, lp));
    any = any || !names.back().empty();
  }
  if (!any) names.clear();
  return names;
}

}  // namespace

Facts Facts::of(const RunRecord& record) {
  Facts facts;
  const Model& model = *record.model;
  facts.run.report = {
      {"command", record.command},
      {"started", record.started},
      {"model",
       {{"name", record.model_name},
        {"lps", model.lp_count()},
        {"tick_seconds", model.tick_seconds()}}},
      {"parameters", report_parameters(model)},
      {"options", report_options(record)},
  };
  for (const ParameterBase* parameter : model.parameters())
    facts.run.parameter_help[parameter->name()] = parameter->help();
  facts.engine = record.engine;
  facts.workers = record.options.workers;
  facts.ranks = record.options.place.ranks;
  facts.lp_names = names_for_map(model);
  facts.horizon_seconds = static_cast<double>(record.options.until.ticks()) * model.tick_seconds();
  facts.horizon = time_text(model, record.options.until);
  return facts;
}

}  // namespace orrery::live
