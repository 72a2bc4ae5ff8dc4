// SPDX-License-Identifier: Apache-2.0
#include "study/study_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "output/number_text.h"
#include "output/text_table.h"
#include "study/warm_up.h"

namespace orrery::study {
namespace {

using Json = nlohmann::ordered_json;
using Align = TextTable::Align;

constexpr int kStudySchema = 1;
constexpr const char* kReal = "REAL";

void add_parameters(const StudyResult& study, PlainTable& table) {
  for (const std::string& name : study.plan.parameters)
    table.add_column("parameter", name, "NUMERIC");
}

void add_values(const Settings& settings, std::vector<Cell>& row) {
  for (const auto& setting : settings) row.emplace_back(setting.second);
}

void add_estimate(const Estimate& estimate, std::vector<Cell>& row) {
  row.emplace_back(whole_number(estimate.count));
  row.emplace_back(estimate.mean);
  if (!estimate.half_width) {
    row.resize(row.size() + 4);
    return;
  }
  row.emplace_back(estimate.deviation);
  row.emplace_back(*estimate.half_width);
  row.emplace_back(estimate.mean - *estimate.half_width);
  row.emplace_back(estimate.mean + *estimate.half_width);
}

void add_estimate_columns(PlainTable& table) {
  table.add_column("estimate", "n", "INTEGER");
  for (const char* name : {"mean", "deviation", "half_width", "low", "high"})
    table.add_column("estimate", name, kReal);
}

Cell cell_of(const RunRow& row, const Measure& measure, std::size_t place) {
  if (place >= row.numbers.size()) return {};
  if (row.numbers[place]) return *row.numbers[place];
  return measure.is_text ? Cell(row.texts[place]) : Cell();
}

Json settings_json(const Settings& settings) {
  Json json = Json::object();
  for (const auto& [name, value] : settings) json[name] = value;
  return json;
}

void put_estimate(const Estimate& estimate, Json& json) {
  json["n"] = estimate.count;
  json["mean"] = estimate.mean;
  json["deviation"] = estimate.half_width ? Json(estimate.deviation) : Json();
  json["half_width"] = estimate.half_width ? Json(*estimate.half_width) : Json();
}

Json points_json(const StudyResult& study) {
  Json json = Json::array();
  for (std::size_t point = 0; point < study.plan.points.size(); ++point)
    json.push_back({{"point", point + 1},
                    {"settings", settings_json(study.plan.points[point])},
                    {"runs", study.runs.rows_of(point).size()}});
  return json;
}

Json measures_json(const StudyResult& study) {
  Json json = Json::object();
  for (const Measure& measure : study.runs.measures())
    json[measure.name] = {{"unit", measure.unit}, {"help", measure.help}};
  return json;
}

Json shown_json(const StudyResult& study) {
  Json json = Json::array();
  for (const std::size_t place : study.shown) json.push_back(study.measure(place).name);
  return json;
}

Json summary_json(const StudyResult& study) {
  Json json = Json::array();
  for (const SummaryRow& row : study.summary) {
    json.push_back({{"measure", study.measure(row.measure).name}, {"point", row.point + 1}});
    put_estimate(row.estimate, json.back());
    json.back()["confidence"] = row.confidence;
  }
  return json;
}

Json comparison_json(const StudyResult& study) {
  Json json = Json::array();
  for (const Difference& one : study.differences) {
    json.push_back({{"measure", study.measure(one.measure).name},
                    {"settings", settings_json(one.setting)},
                    {"first", one.first},
                    {"second", one.second}});
    put_estimate(one.estimate, json.back());
    json.back()["confidence"] = one.confidence;
    json.back()["differs"] = one.is_certain();
  }
  return json;
}

Json failures_json(const StudyResult& study) {
  Json json = Json::array();
  for (const Failure& failure : study.failures)
    json.push_back({{"point", failure.point + 1},
                    {"seed", failure.seed},
                    {"exit_code", failure.code},
                    {"sentence", failure.sentence}});
  return json;
}

Json given_up_json(const StudyResult& study) {
  Json json = Json::array();
  for (const GivenUp& one : study.given_up)
    json.push_back({{"point", one.point + 1},
                    {"measure", study.plan.rules[one.place].measure},
                    {"wanted", study.plan.rules[one.place].share},
                    {"reached", one.share}});
  return json;
}

/// "0.31 %": three digits, since precisions may be small.
std::string share_text(double share) {
  return std::isfinite(share) ? fmt::format("{:.3g} %", share * 100) : "unknown";
}

std::string with_unit(const std::string& name, const std::string& unit) {
  return unit.empty() ? name : fmt::format("{} ({})", name, unit);
}

std::vector<std::string> estimate_cells(const Estimate& estimate) {
  if (!estimate.half_width)
    return {grouped(estimate.count), number_text(estimate.mean), "", "", ""};
  const double relative = estimate.relative_half_width();
  return {grouped(estimate.count), number_text(estimate.mean),
          "+/- " + number_text(*estimate.half_width),
          estimate.mean == 0 ? "" : share_text(relative), number_text(estimate.deviation)};
}

void append(std::vector<std::string>& cells, const std::vector<std::string>& more) {
  cells.insert(cells.end(), more.begin(), more.end());
}

std::vector<TextTable::Column> with_estimate(std::vector<TextTable::Column> columns) {
  for (const char* heading : {"n", "mean", "interval", "relative", "deviation"})
    columns.push_back({heading, Align::right});
  return columns;
}

std::string measure_text(const StudyResult& study, std::size_t place, const Terminal& terminal) {
  std::vector<TextTable::Column> columns;
  for (const std::string& name : study.plan.parameters) columns.push_back({name, Align::right});
  TextTable table(with_estimate(std::move(columns)));
  for (const SummaryRow& row : study.summary) {
    if (row.measure != place) continue;
    std::vector<std::string> cells;
    for (const auto& setting : study.plan.points[row.point]) cells.push_back(setting.second);
    append(cells, estimate_cells(row.estimate));
    table.add(std::move(cells));
  }
  const Measure& measure = study.measure(place);
  const double confidence = confidence_of(study.plan, measure.name, study.confidence);
  const std::string other =
      confidence == study.confidence
          ? ""
          : fmt::format(" (intervals cover the mean with {})", share_text(confidence));
  return fmt::format("\n{}{}{}{}\n{}", terminal.bold(with_unit(measure.name, measure.unit)),
                     measure.help.empty() ? "" : ": ", measure.help, other, table.text(terminal));
}

std::string differences_text(const StudyResult& study, std::size_t place,
                             const Terminal& terminal) {
  std::vector<TextTable::Column> columns;
  for (const std::string& name : study.plan.parameters)
    if (name != study.compared) columns.push_back({name, Align::right});
  columns.push_back({study.compared, Align::left});
  columns = with_estimate(std::move(columns));
  columns.push_back({"", Align::left});
  TextTable table(std::move(columns));
  for (const Difference& one : study.differences) {
    if (one.measure != place) continue;
    std::vector<std::string> cells;
    for (const auto& setting : one.setting) cells.push_back(setting.second);
    cells.push_back(fmt::format("{} - {}", one.second, one.first));
    append(cells, estimate_cells(one.estimate));
    cells[cells.size() - 2].clear();  // a relative width has no meaning for a difference
    cells.push_back(one.is_certain() ? "differs" : "");
    table.add(std::move(cells));
  }
  const Measure& measure = study.measure(place);
  return fmt::format("\n{}\n{}",
                     terminal.bold(with_unit("difference in " + measure.name, measure.unit)),
                     table.text(terminal));
}

/// The warm-up that the pilots have determined; null without pilots.
Json warm_up_json(const StudyResult& study) {
  if (!study.warm_up) return nullptr;
  const FixedWarmUp& one = *study.warm_up;
  return {{"metric", one.metric},
          {"ticks", one.ticks},
          {"text", one.text},
          {"longest_at", one.point + 1},
          {"pilots", kPilots}};
}

std::string warm_up_text(const StudyResult& study) {
  if (!study.warm_up) return "";
  const FixedWarmUp& one = *study.warm_up;
  std::string text =
      fmt::format("warm-up: {}, by {} pilots at each point for {}", one.text, kPilots, one.metric);
  if (study.plan.points.size() > 1)
    text += fmt::format("; {} needs the longest", text_of(study.plan.points[one.point]));
  return text + "\n";
}

std::string heading_text(const StudyResult& study, const Terminal& terminal) {
  const std::size_t points = study.plan.points.size(), runs = study.runs.rows().size();
  return fmt::format("{}: {} point{}, {} run{}; intervals cover the mean with {}\n",
                     terminal.bold(study.model_name), grouped(points), points == 1 ? "" : "s",
                     grouped(runs), runs == 1 ? "" : "s", share_text(study.confidence));
}

}  // namespace

PlainTable table_of_runs(const StudyResult& study) {
  PlainTable table{"runs", {}, {}};
  table.add_column("run", "point", "INTEGER");
  table.add_column("run", "seed", "INTEGER");
  add_parameters(study, table);
  table.add_column("run", "events", "INTEGER");
  table.add_column("run", "fingerprint", "TEXT");
  for (const Measure& measure : study.runs.measures())
    table.add_column(measure.is_result ? "result" : "metric", measure.name,
                     measure.is_text ? "TEXT" : kReal);
  for (const RunRow& run : study.runs.rows()) {
    std::vector<Cell> row{whole_number(run.point + 1), whole_number(run.seed)};
    add_values(study.plan.points[run.point], row);
    row.emplace_back(whole_number(run.events));
    row.emplace_back(run.fingerprint);
    for (std::size_t place = 0; place < study.runs.measures().size(); ++place)
      row.push_back(cell_of(run, study.measure(place), place));
    table.rows.push_back(std::move(row));
  }
  return table;
}

PlainTable table_of_summary(const StudyResult& study) {
  PlainTable table{"summary", {}, {}};
  table.add_column("summary", "measure", "TEXT");
  table.add_column("summary", "unit", "TEXT");
  table.add_column("summary", "point", "INTEGER");
  add_parameters(study, table);
  add_estimate_columns(table);
  table.add_column("summary", "confidence", kReal);
  for (const SummaryRow& one : study.summary) {
    const Measure& measure = study.measure(one.measure);
    std::vector<Cell> row{measure.name, measure.unit, whole_number(one.point + 1)};
    add_values(study.plan.points[one.point], row);
    add_estimate(one.estimate, row);
    row.emplace_back(one.confidence);
    table.rows.push_back(std::move(row));
  }
  return table;
}

PlainTable table_of_comparison(const StudyResult& study) {
  PlainTable table{"comparison", {}, {}};
  table.add_column("comparison", "measure", "TEXT");
  table.add_column("comparison", "unit", "TEXT");
  for (const std::string& name : study.plan.parameters)
    if (name != study.compared) table.add_column("parameter", name, "NUMERIC");
  table.add_column("comparison", "first", "NUMERIC");
  table.add_column("comparison", "second", "NUMERIC");
  add_estimate_columns(table);
  table.add_column("comparison", "confidence", kReal);
  table.add_column("comparison", "differs", "INTEGER");
  for (const Difference& one : study.differences) {
    const Measure& measure = study.measure(one.measure);
    std::vector<Cell> row{measure.name, measure.unit};
    add_values(one.setting, row);
    row.emplace_back(one.first);
    row.emplace_back(one.second);
    add_estimate(one.estimate, row);
    row.emplace_back(one.confidence);
    row.emplace_back(std::int64_t{one.is_certain()});
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string study_json(const StudyResult& study, const std::vector<std::string>& files) {
  Json model = {{"name", study.model_name}};
  if (!study.model_path.empty()) {
    model["path"] = study.model_path;
    model["build"] = study.model_build;
  }
  Json json = {{"schema", kStudySchema},
               {"complete", study.failures.empty()},
               {"orrery",
                {{"version", ORRERY_VERSION},
                 {"build", study.program_build},
                 {"revision", study.revision.empty() ? Json(nullptr) : Json(study.revision)}}},
               {"model", std::move(model)},
               {"plan", study.identity},
               {"warm_up", warm_up_json(study)},
               {"confidence", study.confidence},
               {"measures", measures_json(study)},
               {"shown", shown_json(study)},
               {"points", points_json(study)},
               {"summary", summary_json(study)}};
  if (!study.compared.empty()) {
    json["compared"] = study.compared;
    json["comparison"] = comparison_json(study);
  }
  json["failures"] = failures_json(study);
  json["given_up"] = given_up_json(study);
  json["files"] = files;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string study_text(const StudyResult& study, const Terminal& terminal) {
  std::string text = heading_text(study, terminal) + warm_up_text(study);
  if (study.shown.empty()) text += "\nthe model reports neither results nor metrics\n";
  for (const std::size_t place : study.shown) text += measure_text(study, place, terminal);
  if (!study.compared.empty())
    for (const std::size_t place : study.shown) text += differences_text(study, place, terminal);
  for (const GivenUp& one : study.given_up) text += "\nnote: " + given_up_text(study, one) + "\n";
  return text;
}

std::string given_up_text(const StudyResult& study, const GivenUp& given_up) {
  const PrecisionRule& rule = study.plan.rules[given_up.place];
  return fmt::format(
      "{}after {} replications the interval of {} is {}, and +/- {} of the mean was asked for; "
      "raise --max-seeds or ask for less",
      with_text(study.plan.points[given_up.point]), grouped(study.plan.most_seeds), rule.measure,
      std::isfinite(given_up.share) ? fmt::format("+/- {}", share_text(given_up.share))
                                    : "unknown, since its values do not differ or their mean is 0",
      share_text(rule.share));
}

}  // namespace orrery::study
