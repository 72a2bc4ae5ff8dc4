// SPDX-License-Identifier: Apache-2.0
//
// The files of a run in its output folder: the database, one CSV file for each table and each time
// series, tables of single LPs (lp_tables.h), the captures, and the report. ResultFiles writes the
// rows last; row_store.h brings them into order.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "output/capture_file.h"
#include "output/database.h"
#include "output/lp_tables.h"
#include "output/output_folder.h"
#include "output/row_store.h"
#include "output/run_record.h"

namespace orrery {

class ResultFiles final : public RowWriter {
 public:
  static constexpr std::string_view kDatabaseName = "results.sqlite";

  /// Throws UsageError for tables that cannot become files or SQL tables (two with one name, also
  /// that of a table of --record; a column called lp).
  ResultFiles(OutputFolder& folder, const Model& model);

  void write(const Row& row) override;
  /// Completes all files, makes them visible and sets `record.files`.
  void publish(RunRecord& record);

 private:
  void add_csv(const Table& table);
  void write_csv(const Row& row);
  void add_series(const Metric& metric, const RunRecord& record);
  void add_lp_table(const LpResultTable& table);
  LpResultTable names_of_emitters() const;
  OutputFolder& folder_;
  const Model& model_;
  std::unique_ptr<Database> database_;
  std::optional<CaptureFile> captures_;           // if the model has interfaces
  std::vector<std::unique_ptr<FileWriter>> csv_;  // by table index; then series
  std::vector<bool> has_emitted_;                 // by LP; empty if there are no tables
};

}  // namespace orrery
