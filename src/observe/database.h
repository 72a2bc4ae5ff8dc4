// SPDX-License-Identifier: Apache-2.0
//
// results.sqlite: the rows of every table of the model, and the run's parameters, metrics and
// results beside them, so that one file answers questions in SQL. The file is private until it is
// complete, so the journal and synchronous writes, which protect a database in use, are off; one
// transaction spans the run and the file is synchronised once, at its end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "observe/row_store.h"
#include "observe/run_record.h"

struct sqlite3;
struct sqlite3_stmt;

namespace orrery {

class Database {
 public:
  /// Makes a new file with the model's tables. `path` is replaced if it exists.
  Database(std::string path, const Model& model);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void write(const Row& row);
  /// Adds the rest of the record and writes everything to the disk.
  void finish(const RunRecord& record);

 private:
  void execute(const std::string& sql);
  sqlite3_stmt* prepare(const std::string& sql);
  void create_table(const Table& table);
  void describe_columns(const Table& table);
  void write_record(const RunRecord& record);
  void write_series(const Metric& metric, const RunResult& result);
  void write_histogram(const Metric& metric, const Histogram& histogram);
  void insert(const std::string& sql, const std::vector<std::string>& texts,
              const std::vector<double>& numbers);
  void check(int code) const;

  std::string path_;
  const Model& model_;
  sqlite3* connection_ = nullptr;
  std::vector<sqlite3_stmt*> inserts_;  // by table index
};

/// A name, quoted for SQL.
std::string sql_name(std::string_view name);

}  // namespace orrery
