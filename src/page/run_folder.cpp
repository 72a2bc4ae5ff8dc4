// SPDX-License-Identifier: Apache-2.0
#include "page/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "orrery/error.h"
#include "output/metric_figures.h"
#include "output/output_folder.h"
#include "output/report.h"
#include "output/result_files.h"
#include "page/pictures.h"
#include "page/results.h"

namespace orrery::page {
namespace fs = std::filesystem;
namespace {

/// Refuses with the reason why there is no report, as far as the folder shows it.
[[noreturn]] void refuse_without_report(const fs::path& folder) {
  std::error_code unknown;
  const std::string path = folder.string();
  if (!fs::exists(folder, unknown)) throw UsageError(fmt::format("there is no folder '{}'", path));
  if (!fs::is_directory(folder, unknown))
    throw UsageError(
        fmt::format("'{}' is no folder; name the one that 'orrery run --out' left", path));
  if (fs::exists(folder / kComparisonName, unknown)) {
    throw UsageError(fmt::format(
        "'{}' is the folder of 'orrery compare', whose table is in {}; a page needs runs with "
        "folders of their own, as 'orrery run --out' leaves them",
        path, kComparisonName));
  }
  if (fs::exists(folder / "snapshots", unknown)) {
    throw UsageError(fmt::format(
        "folder '{0}' holds no {1}, so its run is not over; 'orrery resume {0}' goes on with it",
        path, kReportName));
  }
  throw UsageError(fmt::format(
      "folder '{}' holds no {}, which a run writes when it is over; name the folder of 'orrery run "
      "--out'",
      path, kReportName));
}

void check_report(const Json& report, const std::string& file) {
  const bool is_report = at(report, {"run"}).is_object() && at(report, {"model"}).is_object() &&
                         at(report, {"options"}).is_object();
  if (!is_report) throw UsageError(fmt::format("'{}' is not the report of a run", file));
  if (const int schema = report_schema(report); schema > kReportSchema)
    throw UsageError(fmt::format(
        "'{}' was written by a later orrery (schema {}, this one knows {}); use that one", file,
        schema, kReportSchema));
}

/// Adds what reports of schema 1 leave out: kind and figures of metrics. A figure of no values is
/// null; the first reports of schema 1 have 0.
void describe_metrics(Json& report) {
  static const std::set<std::string_view> others = {
      "unit", "help", "quantile_error", "series_interval_ticks", "batch_means", "no_batch_means"};
  if (!at(report, {"metrics"}).is_object()) return;
  for (auto& [metric, json] : report["metrics"].items()) {
    if (!json.is_object()) continue;
    Json figures = Json::object();
    const bool is_empty = number_at(json, {"count"}) == 0;
    const std::string unit = text_at(json, {"unit"});
    for (auto& [name, value] : json.items()) {
      if (others.contains(name)) continue;
      figures[name] = unit_of_figure(name, unit);
      if (is_empty && name != "count" && name != "sum") value = nullptr;
    }
    json["kind"] = kind_of(json.contains("lps") ? Keep::level : Keep::summary);
    json["figures"] = figures;
  }
}

}  // namespace

Json read_json(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw UsageError(fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  if (stream.bad()) throw UsageError(fmt::format("cannot read '{}'", path));
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw UsageError(
        fmt::format("'{}' is damaged: it is no JSON from byte {} on", path, error.byte));
  }
}

RunFolder read_run_folder(const std::string& path) {
  RunFolder run;
  run.path = path;
  const fs::path file = fs::path(path) / kReportName;
  std::error_code unknown;
  if (!fs::is_regular_file(file, unknown)) refuse_without_report(path);
  run.report = read_json(file.string());
  check_report(run.report, file.string());
  if (report_schema(run.report) < kReportSchema) describe_metrics(run.report);
  read_results((fs::path(path) / ResultFiles::kDatabaseName).string(), run);
  run.pictures = read_pictures(path, run.remarks);
  return run;
}

}  // namespace orrery::page
