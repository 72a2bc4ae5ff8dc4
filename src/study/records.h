// SPDX-License-Identifier: Apache-2.0
//
// The facts of each run that a study keeps: the measures in its report, which are the results that
// the model derived and the metrics' counts, means and so on. Facts that depend on the engine or
// differ between executions (times, memory, the engine's statistics) are left out, so that a
// study's tables depend on the model and the seeds only.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "study/plan.h"

namespace orrery::study {

/// A number or text of a run. `name` as on the command line and in tables: "throughput",
/// "stay.mean".
struct Measure {
  std::string name, unit, help;
  bool is_result = false;  ///< derived by the model; else of a metric
  bool is_text = false;    ///< in at least one run
};

/// The values of one run, in the order of the table's measures.
struct RunRow {
  std::size_t point = 0;
  std::uint64_t seed = 0;
  std::uint64_t events = 0;
  std::string fingerprint;
  std::vector<std::optional<double>> numbers;  ///< nothing: not reported, or not finite
  std::vector<std::string> texts;              ///< for measures that are texts
};

/// The rows of a study, by point and then by replication, and the measures of all of them.
class RunTable {
 public:
  /// Adds the run of this report. Call it in the order of the plan.
  void add(std::size_t point, std::uint64_t seed, const nlohmann::ordered_json& report);

  const std::vector<Measure>& measures() const { return measures_; }
  const std::vector<RunRow>& rows() const { return rows_; }
  std::span<const RunRow> rows_of(std::size_t point) const;

  /// The index of a measure; a metric's own name means its mean. Nothing if there is no such
  /// measure.
  std::optional<std::size_t> find(std::string_view name) const;
  /// The measure's numbers in the runs of a point, in the order of the seeds.
  std::vector<double> values(std::size_t point, std::size_t measure) const;

 private:
  std::size_t place_of(Measure measure);
  void put(const Measure& measure, const nlohmann::ordered_json& value, RunRow& row);

  std::vector<Measure> measures_;
  std::vector<RunRow> rows_;
};

/// The number of one measure in a report; a metric's own name means its mean.
std::optional<double> value_in(const nlohmann::ordered_json& report, std::string_view measure);

}  // namespace orrery::study
