// SPDX-License-Identifier: Apache-2.0
//
// results.sqlite: the rows of every table of the model, and the run's parameters, metrics and
// results beside them, so that SQL queries need only one file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "output/lp_tables.h"
#include "output/row_store.h"
#include "output/run_record.h"
#include "output/sqlite.h"

namespace orrery {

class Database {
 public:
  /// Makes a new file with the model's tables. `path` is replaced if it exists.
  Database(std::string path, const Model& model);

  void write(const Row& row);
  /// Adds a table of single LPs with its rows.
  void write(const LpResultTable& table);
  /// Adds the rest of the record and writes everything to the disk.
  void finish(const RunRecord& record);

 private:
  void create_table(const Table& table);
  SqliteStatement create_table(const std::string& name, const std::vector<Column>& columns);
  void write_record(const RunRecord& record);
  void write_series(const Metric& metric, const RunResult& result);
  void write_histogram(const Metric& metric, const Histogram& histogram);
  void insert(const std::string& sql, const std::vector<std::string>& texts,
              const std::vector<double>& numbers);

  const Model& model_;
  SqliteFile file_;
  std::vector<SqliteStatement> inserts_;  // by table index
};

}  // namespace orrery
