// SPDX-License-Identifier: Apache-2.0
#include "live/facts.h"

#include "output/report.h"
#include "run/containment/faults.h"

namespace orrery::live {

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
  facts.horizon_seconds = static_cast<double>(record.options.until.ticks()) * model.tick_seconds();
  facts.horizon = time_text(model, record.options.until);
  return facts;
}

}  // namespace orrery::live
