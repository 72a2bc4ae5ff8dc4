// SPDX-License-Identifier: Apache-2.0
#include "output/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "core/duration_text.h"
#include "core/histogram.h"
#include "core/modules.h"
#include "output/batch_means.h"
#include "output/edge_view.h"
#include "output/lp_tables.h"
#include "output/metric_figures.h"
#include "output/number_text.h"
#include "run/containment/faults.h"
#include "run/results/metric_options.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

Json model_json(const RunRecord& record) {
  Json json = {{"name", record.model_name},
               {"lps", record.model->lp_count()},
               {"tick_seconds", record.model->tick_seconds()}};
  if (!record.model_path.empty()) {
    json["path"] = record.model_path;
    json["build"] = build_of_model(record.model_path);
  }
  return json;
}

Json inputs_json(const std::vector<InputFile>& inputs) {
  Json json = Json::array();
  for (const InputFile& one : inputs)
    json.push_back({{"path", one.path}, {"bytes", one.bytes}, {"xxh3_128", one.digest}});
  return json;
}

Json host_json(const HostFacts& host) {
  return {{"cpu", host.cpu},
          {"cores", host.cores},
          {"usable_cores", host.usable_cores},
          {"memory_bytes", host.memory_bytes},
          {"system", host.system}};
}

Json run_json(const RunRecord& record) {
  const RunResult& result = record.result;
  Json json = {{"end", run_end_text(result.end)}};
  if (!result.fault.empty()) json["fault"] = result.fault;
  json["workers"] = result.workers;
  json["ranks"] = result.ranks;
  if (!record.hosts.empty()) {
    json["back_end"] = record.back_end;
    json["hosts"] = record.hosts;
  }
  json["reached"] = time_text(*record.model, result.reached);
  json["reached_ticks"] = result.reached.ticks();
  json["reached_seconds"] = record.reached_seconds();
  json["committed"] = result.committed;
  json["executed"] = result.executed;
  json["efficiency"] = record.efficiency();
  json["fingerprint"] = fmt::format("{:016x}", result.fingerprint);
  json["seconds"] = {{"startup", result.startup_seconds},
                     {"loop", result.loop_seconds},
                     {"shutdown", result.shutdown_seconds},
                     {"wall", record.wall_seconds}};
  json["events_per_second"] = record.events_per_second();
  json["simulated_seconds_per_second"] = record.simulated_per_second();
  json["engine_peak_bytes"] = result.peak_memory_bytes;
  json["peak_rss_bytes"] = record.peak_resident_bytes;
  return json;
}

Json figure_json(const MetricFigure& figure) {
  if (!figure.value) return nullptr;
  if (is_count(figure.name)) return static_cast<std::uint64_t>(*figure.value);
  return *figure.value;
}

/// Null if there is no interval; `why` is the reason.
Json batches_json(const Metric& metric, const RunRecord& record, std::string& why) {
  const std::optional<BatchMeans> means = batch_means(metric, record.result, 0.95, &why);
  if (!means) return nullptr;
  why.clear();
  return {
      {"batches", means->batches},           {"batch_ticks", means->batch.ticks()},
      {"begin_ticks", means->begin.ticks()}, {metric.is_level() ? "total" : "mean", means->mean},
      {"half_width", means->half_width},     {"confidence", means->confidence},
      {"correlation", means->correlation}};
}

/// What --record keeps of single LPs: which tables have it, and of how many LPs.
Json of_lps_json(const Metric& metric, const RunResult& result) {
  const LpFigures& figures = result.lp_figures[metric.index()];
  Json json = {{"recorded", metric.is_level() ? figures.levels.size() : figures.values.size()},
               {"selected", count_of(metric.recording()->lps)},
               {"table", lp_table_name(metric)}};
  if (!metric.recording()->has_series()) return json;
  json["series_table"] = lp_series_name(metric);
  json["series_interval_ticks"] = metric.recording()->interval.ticks();
  return json;
}

/// The periods of a run that changed its engine.
Json periods_json(const std::vector<EnginePeriod>& periods) {
  Json json = Json::array();
  for (const EnginePeriod& period : periods) {
    json.push_back({{"engine", period.engine},
                    {"workers", period.workers},
                    {"why", period.why},
                    {"begin_seconds", period.begin_seconds},
                    {"seconds", period.seconds},
                    {"loop_seconds", period.loop_seconds},
                    {"committed", period.committed},
                    {"slices", period.slices}});
  }
  return json;
}

Json program_json(const RunRecord& record) {
  Json json = {
      {"version", ORRERY_VERSION}, {"compiler", __VERSION__}, {"build", build_of_program()}};
  json["revision"] = record.revision.empty() ? Json(nullptr) : Json(record.revision);
  return json;
}

/// Name, unit, help and value of results and statistics.
template <class Values>
Json values_json(const Values& values) {
  Json json = Json::object();
  for (const auto& v : values)
    json[v.name] = {{"value", v.value}, {"unit", v.unit}, {"help", v.help}};
  return json;
}

Json results_json(const std::vector<DerivedValue>& results) {
  Json json = values_json(results);
  for (const DerivedValue& one : results)
    if (one.text) json[one.name]["value"] = *one.text;
  return json;
}

}  // namespace

Json report_parameters(const Model& model) {
  Json json = Json::object();
  for (const ParameterBase* p : model.parameters()) {
    json[p->name()] = {{"value", typed_json(p->type_text(), p->value_text())},
                       {"default", typed_json(p->type_text(), p->default_text())},
                       {"type", p->type_text()},
                       {"unit", p->unit()}};
  }
  return json;
}

Json report_options(const RunRecord& record) {
  Json json = {{"engine", record.engine}};
  const double tick_seconds = record.model->tick_seconds();
  for (const OptionBase* option : all_options())
    for (const auto& [field, value] : option->report(record.options, tick_seconds))
      std::visit([&, name = &field](const auto& plain) { json[*name] = plain; }, value);
  return json;
}

Json report_metrics(const RunRecord& record) {
  Json json = Json::object();
  const auto& metrics = record.model->metrics();
  for (std::size_t i = 0; i < metrics.size() && i < record.result.metrics.size(); ++i) {
    const Metric& metric = *metrics[i];
    Json& one =
        json[metric.name()] = {{"kind", kind_of(metric.is_level() ? Keep::level : Keep::summary)},
                               {"unit", metric.unit()},
                               {"help", metric.help()},
                               {"figures", Json::object()}};
    for (const MetricFigure& figure : figures_of(metric, *record.model, record.result)) {
      one["figures"][figure.name] = figure.unit;
      one[figure.name] = figure_json(figure);
    }
    if (metric.keeps(Keep::histogram)) one["quantile_error"] = Histogram::kRelativeError;
    if (metric.has_series()) one["series_interval_ticks"] = metric.interval().ticks();
    if (metric.recording() != nullptr) one["of_lps"] = of_lps_json(metric, record.result);
  }
  for (const Metric* metric : batched_metrics(*record.model, record.options)) {
    if (!json.contains(metric->name())) continue;
    std::string why;
    json[metric->name()]["batch_means"] = batches_json(*metric, record, why);
    if (!why.empty()) json[metric->name()]["no_batch_means"] = why;
  }
  return json;
}

/// One list for each counter; all lists have the same length.
Json report_progress(const std::vector<ProgressPoint>& points) {
  const bool has_engines = std::any_of(
      points.begin(), points.end(), [](const ProgressPoint& one) { return one.engine != nullptr; });
  Json json = Json::object();
  for (const ProgressPoint& one : points) {
    json["wall_seconds"].push_back(one.wall_seconds);
    json["simulated_seconds"].push_back(one.simulated_seconds);
    json["committed"].push_back(one.committed);
    json["executed"].push_back(one.executed);
    json["memory_bytes"].push_back(one.memory_bytes);
    if (!has_engines) continue;
    json["engine"].push_back(one.engine == nullptr ? "" : one.engine);
    json["workers"].push_back(one.workers);
  }
  return json;
}

Json typed_json(const std::string& type, const std::string& text) {
  const char* begin = text.data();
  const char* end = begin + text.size();
  if (type == "integer") {
    std::int64_t value = 0;
    if (std::from_chars(begin, end, value).ec == std::errc{}) return value;
  } else if (type == "real") {
    double value = 0;
    if (std::from_chars(begin, end, value).ec == std::errc{}) return value;
  } else if (type == "yes/no") {
    return text == "yes";
  }
  return text;
}

int report_schema(const Json& report) {
  for (const char* name : {"schema_version", "schema"})
    if (const auto found = report.find(name); found != report.end() && found->is_number_integer())
      return found->get<int>();
  return 0;
}

std::string report_json(const RunRecord& record) {
  Json json = {
      {"schema_version", kReportSchema},
      {"schema", 1},  // what earlier readers know has kept its place and meaning
      {"complete", record.complete()},
      {"orrery", program_json(record)},
      {"command", record.command},
      {"started", record.started},
      {"model", model_json(record)},
      {"parameters", report_parameters(*record.model)},
      {"options", report_options(record)},
      {"inputs", inputs_json(record.inputs)},
      {"host", host_json(record.host)},
      {"run", run_json(record)},
      {"results", results_json(record.derived)},
      {"metrics", report_metrics(record)},
      {"statistics", values_json(record.result.statistics)},
      {"notes", record.result.notes},
      {"files", record.files},
  };
  if (const auto& snapshots = record.snapshots) {
    json["snapshots"] = {{"last", snapshots->last}, {"last_time", snapshots->last_time}};
    if (!snapshots->resumed.empty()) json["snapshots"]["resumed_at"] = snapshots->resumed;
    if (!snapshots->forked.empty()) json["snapshots"]["forked_from"] = snapshots->forked;
  }
  if (!record.result.account.empty()) json["account"] = record.result.account;
  if (!record.result.periods.empty()) json["engines"] = periods_json(record.result.periods);
  if (!record.progress.empty()) json["progress"] = report_progress(record.progress);
  if (!record.result.edges.empty()) json["edges"] = edges_json(*record.model, record.result.edges);
  // A name that is not UTF-8 must not make the report fail.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace orrery
