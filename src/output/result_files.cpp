// SPDX-License-Identifier: Apache-2.0
#include "output/result_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <type_traits>

#include "core/format_into.h"
#include "core/row_cells.h"
#include "orrery/error.h"
#include "output/csv.h"
#include "output/report.h"
#include "run/containment/lp_names.h"

namespace orrery {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// SQL does not distinguish "Trips" from "trips", nor do some file systems.
void check_names(const Model& model) {
  std::set<std::string> tables;
  for (const Table* table : model.tables()) {
    const std::string name = lower(table->name());
    if (name.starts_with("orrery_") || name.starts_with("sqlite_")) {
      throw UsageError(fmt::format(
          "the model's table '{}' has a reserved name; rename it to one without 'orrery_' or "
          "'sqlite_' in front",
          table->name()));
    }
    if (!tables.insert(name).second)
      throw UsageError(fmt::format("the model has two tables called '{}'; rename one", name));
    std::set<std::string> columns = {"time_ticks", "lp"};
    for (const Column& column : table->columns()) {
      if (columns.insert(lower(column.name)).second) continue;
      throw UsageError(fmt::format(
          "column '{}' of the model's table '{}' is there twice (every table has 'time_ticks' and "
          "'lp' already); rename it",
          column.name, table->name()));
    }
  }
}

/// The tables of --record need names of their own.
void check_recordings(const Model& model) {
  std::set<std::string> names;
  for (const Table* table : model.tables()) names.insert(lower(table->name()));
  for (const Metric* metric : model.metrics()) {
    if (metric->recording() == nullptr) continue;
    std::vector<std::string> own = {lp_table_name(*metric)};
    if (metric->recording()->has_series()) own.push_back(lp_series_name(*metric));
    for (const std::string& name : own)
      if (!names.insert(lower(name)).second)
        throw UsageError(fmt::format(
            "--record of metric '{}' makes a table '{}', and the run has another one of that name; "
            "record the metric in another run, or rename it in the model",
            metric->name(), name));
  }
}

std::string file_name(std::string name, const char* ending = ".csv") {
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; };
  for (char& c : name)
    if (!is_plain(static_cast<unsigned char>(c))) c = '_';
  return name + ending;
}

}  // namespace

ResultFiles::ResultFiles(OutputFolder& folder, const Model& model)
    : folder_(folder), model_(model) {
  check_names(model);
  check_recordings(model);
  database_ = std::make_unique<Database>(folder.add(kDatabaseName), model);
  for (const Table* table : model.tables()) add_csv(*table);
  if (!model.captures().empty()) captures_.emplace(folder.add(CaptureFile::kName), model);
  if (!model.tables().empty()) has_emitted_.resize(model.lp_count());
}

void ResultFiles::add_csv(const Table& table) {
  auto file = std::make_unique<FileWriter>(folder_.add(file_name(table.name())));
  std::string heading = "time_ticks,lp";
  for (const Column& column : table.columns()) heading += "," + csv_text(column.name);
  file->write(heading + "\n");
  csv_.push_back(std::move(file));
}

void ResultFiles::write(const Row& row) {
  if (row_cells::is_capture(row.table)) return captures_->write(row);
  database_->write(row);
  has_emitted_[row.lp] = true;
  write_csv(row);
}

void ResultFiles::write_csv(const Row& row) {
  FileWriter& file = *csv_[row.table];
  std::string& text = file.buffer();
  append_format(text, "{},{}", row.key.time().ticks(), row.lp);
  row_cells::for_each(*model_.tables()[row.table], row.cells, [&]<class T>(const T& value) {
    if constexpr (std::is_same_v<T, std::string_view>)
      append_format(text, ",{}", csv_text(value));
    else  // doubles with the fewest digits that read back as the same number
      append_format(text, ",{}", value);
  });
  file.write("\n");
}

/// An interval without values has no mean.
void ResultFiles::add_series(const Metric& metric, const RunRecord& record) {
  const Series& series = record.result.mergeable_statistics->series(metric);
  auto file = std::make_unique<FileWriter>(folder_.add(file_name(metric.name(), ".series.csv")));
  file->write(series.of_level() ? "begin_ticks,end_ticks,changes,total\n"
                                : "begin_ticks,end_ticks,count,sum,mean,minimum,maximum\n");
  for (const auto& one : series.intervals(metric.observed_from(), record.result.reached)) {
    std::string& text = file->buffer();
    append_format(text, "{},{},{}", one.begin.ticks(), one.end.ticks(), one.count);
    if (series.of_level()) {
      append_format(text, ",{}", one.mean);
    } else if (one.count == 0) {
      text += ",0,,,";
    } else {
      append_format(text, ",{},{},{},{}", one.sum, one.mean, one.minimum, one.maximum);
    }
    file->write("\n");
  }
  csv_.push_back(std::move(file));
}

void ResultFiles::add_lp_table(const LpResultTable& table) {
  auto file = std::make_unique<FileWriter>(folder_.add(file_name(table.name)));
  std::string heading;
  for (const Column& column : table.columns)
    heading += (heading.empty() ? "" : ",") + csv_text(column.name);
  file->write(heading + "\n");
  table.for_each_row([&file](std::span<const LpCell> cells) {
    std::string& text = file->buffer();
    for (const LpCell& cell : cells) {
      if (&cell != cells.data()) text += ",";
      if (const auto* name = std::get_if<std::string_view>(&cell))
        text += csv_text(*name);
      else if (const auto* real = std::get_if<double>(&cell))
        append_format(text, "{}", *real);
      else if (const auto* whole = std::get_if<std::int64_t>(&cell))
        append_format(text, "{}", *whole);
    }
    file->write("\n");
  });
  csv_.push_back(std::move(file));
  database_->write(table);
}

LpResultTable ResultFiles::names_of_emitters() const {
  std::vector<std::pair<LpId, std::string>> names;
  for (LpId lp = 0; lp < has_emitted_.size(); ++lp)
    if (has_emitted_[lp])
      if (std::string name = lp_name(model_, lp); !name.empty()) names.emplace_back(lp, name);
  return lp_name_table(std::move(names));
}

void ResultFiles::publish(RunRecord& record) {
  if (record.result.mergeable_statistics)
    for (const Metric* metric : model_.metrics())
      if (metric->has_series()) add_series(*metric, record);
  for (const LpResultTable& table : lp_tables(model_, record.result)) add_lp_table(table);
  if (const LpResultTable names = names_of_emitters(); !names.is_empty) add_lp_table(names);
  record.files = folder_.names();
  for (auto& file : csv_) file->finish();
  if (captures_) captures_->finish();
  database_->finish(record);
  folder_.publish(report_json(record));
}

}  // namespace orrery
