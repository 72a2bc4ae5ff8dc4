// SPDX-License-Identifier: Apache-2.0
#include "study/records.h"

#include <algorithm>
#include <string_view>

#include "page/json_place.h"

namespace orrery::study {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMean = ".mean";

/// Calls `action` for every measure of a report with its value.
template <class Action>
void for_each_measure(const Json& report, Action&& action) {
  for (const auto& [name, result] : report.at("results").items()) {
    const Json& value = result.at("value");
    action(Measure{name, page::text_at(result, {"unit"}), page::text_at(result, {"help"}), true,
                   value.is_string()},
           value);
  }
  for (const auto& [name, metric] : report.at("metrics").items())
    for (const auto& [figure, unit] : metric.at("figures").items())
      action(Measure{name + "." + figure, unit.template get<std::string>(),
                     page::text_at(metric, {"help"}), false, false},
             metric.at(figure));
}

}  // namespace

std::size_t RunTable::place_of(Measure measure) {
  for (std::size_t i = 0; i < measures_.size(); ++i) {
    if (measures_[i].name != measure.name) continue;
    measures_[i].is_text |= measure.is_text;
    return i;
  }
  measures_.push_back(std::move(measure));
  return measures_.size() - 1;
}

void RunTable::put(const Measure& measure, const Json& value, RunRow& row) {
  const std::size_t place = place_of(measure);
  row.numbers.resize(measures_.size());
  row.texts.resize(measures_.size());
  if (value.is_number()) row.numbers[place] = value.get<double>();
  if (value.is_string()) row.texts[place] = value.get<std::string>();
}

void RunTable::add(std::size_t point, std::uint64_t seed, const Json& report) {
  RunRow row;
  row.point = point;
  row.seed = seed;
  row.events = report.at("run").at("committed").get<std::uint64_t>();
  row.fingerprint = report.at("run").at("fingerprint").get<std::string>();
  row.numbers.resize(measures_.size());
  row.texts.resize(measures_.size());
  for_each_measure(report,
                   [&](const Measure& measure, const Json& value) { put(measure, value, row); });
  rows_.push_back(std::move(row));
}

std::span<const RunRow> RunTable::rows_of(std::size_t point) const {
  const auto by_point = [](const RunRow& row, std::size_t wanted) { return row.point < wanted; };
  const auto begin = std::lower_bound(rows_.begin(), rows_.end(), point, by_point);
  const auto end = std::lower_bound(begin, rows_.end(), point + 1, by_point);
  return {begin, end};
}

std::optional<std::size_t> RunTable::find(std::string_view name) const {
  const std::string mean = std::string(name) + std::string(kMean);
  std::optional<std::size_t> of_metric;
  for (std::size_t i = 0; i < measures_.size(); ++i) {
    if (measures_[i].name == name) return i;
    if (measures_[i].name == mean) of_metric = i;
  }
  return of_metric;
}

std::vector<double> RunTable::values(std::size_t point, std::size_t measure) const {
  std::vector<double> values;
  for (const RunRow& row : rows_of(point))
    if (measure < row.numbers.size() && row.numbers[measure])
      values.push_back(*row.numbers[measure]);
  return values;
}

std::optional<double> value_in(const Json& report, std::string_view name) {
  RunTable alone;
  alone.add(0, 0, report);
  const auto place = alone.find(name);
  return place ? alone.rows().front().numbers[*place] : std::nullopt;
}

}  // namespace orrery::study
