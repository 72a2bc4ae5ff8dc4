// SPDX-License-Identifier: Apache-2.0
//
// The files of a run in its output folder: the database, one CSV file for each table and each time
// series, and the report. They are the last stop of the rows; see row_store.h for how rows come
// here in order.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "observe/database.h"
#include "observe/output_folder.h"
#include "observe/row_store.h"
#include "observe/run_record.h"

namespace orrery {

class ResultFiles final : public RowWriter {
 public:
  static constexpr std::string_view kDatabaseName = "results.sqlite";

  /// Refuses tables that cannot become files or SQL tables (two with one name, a column called lp).
  ResultFiles(OutputFolder& folder, const Model& model);

  void write(const Row& row) override;
  /// Completes all files and makes them visible. `record.files` is set here.
  void publish(RunRecord& record);

 private:
  void add_csv(const Table& table);
  void add_series(const Metric& metric, const RunRecord& record);
  OutputFolder& folder_;
  const Model& model_;
  std::unique_ptr<Database> database_;
  std::vector<std::unique_ptr<FileWriter>> csv_;  // by table index; then series
};

}  // namespace orrery
