// SPDX-License-Identifier: Apache-2.0
//
// What a run has left in its folder, as far as a page shows it: the report, and what results.sqlite
// and the pictures beside it add. Only the report is needed; the rest may be missing or damaged,
// and then a remark says so. Tables and series may be of any length; what is read of them is
// bounded.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "page/bins.h"
#include "page/json_place.h"

namespace orrery::page {

/// An interval of a metric's time series, or several.
struct SeriesPoint {
  double begin_ticks = 0, end_ticks = 0, count = 0;
  std::optional<double> mean, minimum, maximum;
};

struct Column {
  std::string name, unit;
  std::string type;  ///< "integer", "real" or "text"
};

/// A column over the time of the rows.
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

struct Picture {
  std::string name, media_type, base64;
};

struct RunFolder {
  std::string path;
  Json report;
  std::map<std::string, std::string> parameter_help;
  std::map<std::string, std::vector<Counted>> histograms;  ///< by metric
  std::map<std::string, std::vector<SeriesPoint>> series;  ///< by metric
  std::vector<TablePreview> tables;
  std::vector<Picture> pictures;
  std::vector<std::string> remarks;  ///< what could not be read
};

/// Throws UsageError where there is no report, or none that can be read.
RunFolder read_run_folder(const std::string& path);

/// A JSON file. Throws UsageError.
Json read_json(const std::string& path);

/// SVG and PNG files in the folder, by name. What is left out is said in `remarks`.
std::vector<Picture> read_pictures(const std::string& path, std::vector<std::string>& remarks);

}  // namespace orrery::page
