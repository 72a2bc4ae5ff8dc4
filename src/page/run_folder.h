// SPDX-License-Identifier: Apache-2.0
//
// The data in a run's folder that a page shows: the report, and additions from results.sqlite and
// pictures. Only the report is required; for a missing or damaged file there is a remark. Tables
// and series may have any length; only a bounded part is read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "page/bins.h"
#include "page/json_place.h"

namespace orrery::page {

/// One interval of a metric's time series, or several merged ones.
struct SeriesPoint {
  double begin_ticks = 0, end_ticks = 0, count = 0;
  std::optional<double> mean, minimum, maximum;
};

struct Column {
  std::string name, unit;
  std::string type;  ///< "integer", "real" or "text"
};

/// The values of a column over the time of its rows.
struct Course {
  std::string column, unit;
  std::vector<std::pair<double, double>> points;  ///< ticks, mean of the rows
};

struct TablePreview {
  std::string name;
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> first_rows;
  std::uint64_t rows = 0;
  std::vector<Course> courses;
};

/// A figure of an LP, or the mean of several neighbours in the order of numbers.
struct LpBar {
  std::string text;  ///< "LP 5 (router3)", "LPs 5 to 9"
  std::optional<double> value;
};

struct LpFigure {
  std::string text;
  double count = 0;
  std::optional<double> mean, deviation, minimum, maximum;
};

/// The shown figure of some neighbouring LPs in some neighbouring intervals.
struct LpMean {
  std::size_t row = 0, column = 0;
  double value = 0;
};

/// The data that --record has kept of the LPs of one metric, as much as a page shows.
struct OfLps {
  std::uint64_t lps = 0;          ///< that have recorded the metric
  std::string figure = "mean";    ///< shown by pictures; "count" if all means are equal
  std::vector<LpBar> bars;        ///< of all LPs, by number
  std::vector<LpFigure> highest;  ///< the LPs with the highest of these figures
  std::vector<std::pair<std::string, std::vector<SeriesPoint>>> courses;  ///< of those of them
  std::vector<std::string> rows;  ///< of the heat map of the series: the texts of their LPs
  std::size_t columns = 0;
  std::vector<LpMean> cells;
  double begin_ticks = 0, end_ticks = 0;  ///< of the series
};

struct Picture {
  std::string name, media_type, base64;
};

struct RunFolder {
  std::string path;
  Json report;
  std::map<std::string, std::string> parameter_help;
  std::map<std::string, std::vector<Counted>> histograms;  ///< by metric
  std::map<std::string, std::vector<SeriesPoint>> series;  ///< by metric
  std::map<std::string, OfLps> of_lps;                     ///< by metric
  std::vector<TablePreview> tables;
  std::vector<Picture> pictures;
  std::vector<std::string> remarks;  ///< parts that could not be read
};

/// Throws UsageError if there is no report, or one that cannot be read.
RunFolder read_run_folder(const std::string& path);

/// A JSON file. Throws UsageError.
Json read_json(const std::string& path);

/// SVG and PNG files in the folder, by name. Adds a remark for each picture that is left out.
std::vector<Picture> read_pictures(const std::string& path, std::vector<std::string>& remarks);

}  // namespace orrery::page
