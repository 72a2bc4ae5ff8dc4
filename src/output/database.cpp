// SPDX-License-Identifier: Apache-2.0
#include "output/database.h"

#include <fmt/format.h>

#include <utility>

#include "core/row_cells.h"
#include "output/metric_figures.h"
#include "output/number_text.h"

namespace orrery {
namespace {

constexpr const char* kMetaTables = R"(
  CREATE TABLE orrery_run (name TEXT PRIMARY KEY, value);
  CREATE TABLE orrery_parameters (name TEXT PRIMARY KEY, value TEXT, unit TEXT, type TEXT,
                                  help TEXT);
  CREATE TABLE orrery_metrics (name TEXT PRIMARY KEY, unit TEXT, help TEXT, count INTEGER, sum REAL,
                               mean REAL, deviation REAL, minimum REAL, maximum REAL);
  CREATE TABLE orrery_figures (metric TEXT, figure TEXT, unit TEXT, value REAL,
                               PRIMARY KEY (metric, figure));
  CREATE TABLE orrery_histograms (metric TEXT, value REAL, count INTEGER,
                                  PRIMARY KEY (metric, value));
  CREATE TABLE orrery_series (metric TEXT, begin_ticks INTEGER, end_ticks INTEGER, count INTEGER,
                              sum REAL, mean REAL, minimum REAL, maximum REAL, total REAL,
                              PRIMARY KEY (metric, begin_ticks));
  CREATE TABLE orrery_lp_tables (table_name TEXT PRIMARY KEY, metric TEXT, kind TEXT);
  CREATE TABLE orrery_results (name TEXT PRIMARY KEY, unit TEXT, help TEXT, value);
  CREATE TABLE orrery_columns (table_name TEXT, column_name TEXT, type TEXT, unit TEXT,
                               PRIMARY KEY (table_name, column_name));
)";

const char* sql_type(ColumnType type) {
  switch (type) {
    case ColumnType::integer:
      return "INTEGER";
    case ColumnType::real:
      return "REAL";
    case ColumnType::text:
      return "TEXT";
  }
  return "";
}

}  // namespace

Database::Database(std::string path, const Model& model)
    : model_(model), file_(std::move(path), SqliteFile::Use::write) {
  file_.execute(kMetaTables);
  for (const Table* table : model_.tables()) create_table(*table);
}

/// Makes and describes a table, and returns the insertion of a row.
SqliteStatement Database::create_table(const std::string& name,
                                       const std::vector<Column>& columns) {
  std::string definitions, places;
  for (const Column& column : columns) {
    const char* const comma = places.empty() ? "" : ", ";
    definitions += fmt::format("{}{} {}", comma, sql_name(column.name), sql_type(column.type));
    places += fmt::format("{}?", comma);
    insert("INSERT INTO orrery_columns VALUES (?, ?, ?, ?)",
           {name, column.name, name_of(column.type), column.unit}, {});
  }
  file_.execute(fmt::format("CREATE TABLE {} ({})", sql_name(name), definitions));
  return {file_, fmt::format("INSERT INTO {} VALUES ({})", sql_name(name), places)};
}

void Database::create_table(const Table& table) {
  std::vector<Column> columns = {{"time_ticks", ColumnType::integer, "ticks"},
                                 {"lp", ColumnType::integer}};
  columns.insert(columns.end(), table.columns().begin(), table.columns().end());
  inserts_.push_back(create_table(table.name(), columns));
}

void Database::write(const LpResultTable& table) {
  insert("INSERT INTO orrery_lp_tables VALUES (?, ?, ?)", {table.name, table.metric, table.kind},
         {});
  SqliteStatement insert_row = create_table(table.name, table.columns);
  table.for_each_row([&insert_row](std::span<const LpCell> cells) {
    int place = 0;
    for (const LpCell& cell : cells)
      std::visit([&](const auto& value) { insert_row.bind(++place, value); }, cell);
    insert_row.run();
  });
}

void Database::write(const Row& row) {
  SqliteStatement& insert = inserts_[row.table];
  insert.bind(1, row.key.time().ticks());
  insert.bind(2, static_cast<std::int64_t>(row.lp));
  int place = 2;
  row_cells::for_each(*model_.tables()[row.table], row.cells,
                      [&](const auto& value) { insert.bind(++place, value); });
  insert.run();
}

void Database::finish(const RunRecord& record) {
  write_record(record);
  inserts_.clear();
  file_.finish();
}

void Database::write_record(const RunRecord& record) {
  const RunResult& result = record.result;
  const auto fact = [this](const char* name, const std::string& value) {
    insert("INSERT INTO orrery_run VALUES (?, ?)", {name, value}, {});
  };
  fact("version", ORRERY_VERSION);
  fact("model", record.model_name);
  fact("engine", record.engine);
  fact("workers", std::to_string(result.workers));
  fact("seed", std::to_string(record.options.seed));
  fact("complete", record.complete() ? "1" : "0");
  fact("until_ticks", std::to_string(record.options.until.ticks()));
  fact("reached_ticks", std::to_string(result.reached.ticks()));
  fact("tick_seconds", fmt::format("{}", model_.tick_seconds()));
  fact("committed", std::to_string(result.committed));
  fact("fingerprint", fingerprint_text(result.fingerprint));
  for (const ParameterBase* p : model_.parameters()) {
    insert("INSERT INTO orrery_parameters VALUES (?, ?, ?, ?, ?)",
           {p->name(), p->value_text(), p->unit(), p->type_text(), p->help()}, {});
  }
  for (std::size_t i = 0; i < result.metrics.size(); ++i) {
    const Metric& m = *model_.metrics()[i];
    const Summary& s = result.metrics[i];
    if (!m.is_level())
      insert("INSERT INTO orrery_metrics VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
             {m.name(), m.unit(), m.help()},
             s.count == 0 ? std::vector<double>{0, 0}
                          : std::vector<double>{static_cast<double>(s.count), s.sum, s.mean(),
                                                s.deviation(), s.minimum, s.maximum});
    for (const MetricFigure& figure : figures_of(m, model_, result))
      if (figure.value)
        insert("INSERT INTO orrery_figures VALUES (?, ?, ?, ?)",
               {m.name(), figure.name, figure.unit}, {*figure.value});
    if (!result.mergeable_statistics) continue;
    if (m.keeps(Keep::histogram)) write_histogram(m, result.mergeable_statistics->histogram(m));
    if (m.has_series()) write_series(m, result);
  }
  for (const DerivedValue& value : record.derived) {
    std::vector<std::string> texts = {value.name, value.unit, value.help};
    std::vector<double> numbers;
    if (value.text) {
      texts.push_back(*value.text);
    } else {
      numbers.push_back(value.value);
    }
    insert("INSERT OR REPLACE INTO orrery_results VALUES (?, ?, ?, ?)", texts, numbers);
  }
}

void Database::write_histogram(const Metric& metric, const Histogram& histogram) {
  histogram.for_each([&](double value, std::uint64_t count) {
    insert("INSERT INTO orrery_histograms VALUES (?, ?, ?)", {metric.name()},
           {value, static_cast<double>(count)});
  });
}

/// A level has neither sums nor extremes.
void Database::write_series(const Metric& metric, const RunResult& result) {
  const Series& series = result.mergeable_statistics->series(metric);
  for (const auto& one : series.intervals(metric.observed_from(), result.reached)) {
    const auto number = [](auto n) { return static_cast<double>(n); };
    std::vector<double> numbers = {number(one.begin.ticks()), number(one.end.ticks()),
                                   number(one.count)};
    if (series.of_level()) {
      numbers.push_back(one.mean);
      insert(
          "INSERT INTO orrery_series (metric, begin_ticks, end_ticks, count, total) "
          "VALUES (?, ?, ?, ?, ?)",
          {metric.name()}, numbers);
      continue;
    }
    numbers.push_back(one.sum);
    if (one.count > 0) numbers.insert(numbers.end(), {one.mean, one.minimum, one.maximum});
    insert("INSERT INTO orrery_series VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)", {metric.name()},
           numbers);
  }
}

void Database::insert(const std::string& sql, const std::vector<std::string>& texts,
                      const std::vector<double>& numbers) {
  SqliteStatement statement(file_, sql, texts);
  int place = static_cast<int>(texts.size());
  for (const double number : numbers) statement.bind(++place, number);
  statement.run();
}

}  // namespace orrery
