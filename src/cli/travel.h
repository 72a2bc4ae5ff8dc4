// SPDX-License-Identifier: Apache-2.0
//
// Snapshots of a run: the run takes them (orrery run --snapshot...), begins at one (resume, fork),
// or does neither, which is the ordinary case and costs nothing. The functions stand in the order
// in which a run calls them: the process and its model's memory, the prepared model, options,
// halts, rows, and the text at the end.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/run_arguments.h"
#include "observe/row_log.h"
#include "observe/row_store.h"
#include "observe/run_record.h"
#include "observe/watch.h"
#include "snapshot/arrival.h"
#include "snapshot/keeper.h"

namespace orrery::cli {

class Travel {
 public:
  /// A run from its model's start. `ranks`: null if this process runs it alone.
  Travel(const RunArguments& arguments, transport::RankTransport* ranks);
  /// A run that resumes from a snapshot; in another folder if it is a fork.
  Travel(const ResumeArguments& arguments, transport::RankTransport* ranks);

  bool takes_snapshots() const { return arguments_ != nullptr; }
  /// The arguments to make the model from: the given ones, or the snapshot's.
  const RunArguments& model_arguments() const { return model_arguments_; }
  bool resumes_in_place() const { return arrival_ && !is_fork_; }

  /// Call it with the model's parameters set, before the model is prepared.
  void note_model(const ChosenModel& chosen);
  /// Call it when the model is prepared. Throws UsageError for a model whose LPs cannot be written
  /// into a snapshot, and for an engine that is no WorldEngine.
  void check(const Engine& engine, const EngineInfo& info, const Model& model);
  /// The seed to prepare the model with: `given`, or for a resumed run its first seed, since the
  /// LPs in the snapshot refer to data that prepare() made with that seed.
  std::uint64_t model_seed(std::uint64_t given);
  /// Gives the prepared model the state that the snapshot's model had, then applies the changes of
  /// a fork.
  void restore_model(const ChosenModel& chosen);
  /// Sets the options of the snapshot, before the given options are applied.
  void set_defaults(RunOptions& options) const;
  /// Call it when all options are known.
  void set_options(const RunOptions& options, const Model& model);

  /// The snapshot options, as a text that must be equal on all ranks.
  std::string facts_text() const;
  /// Makes the folder for snapshots, deletes those of an earlier run, and opens the log of rows.
  /// Only the first rank calls it.
  void open(const std::string& out, bool has_tables);
  void set_up(Watch::Settings& settings) const;
  /// The log that takes the rows until the end of the run; null: rows go into the files at once.
  RowWriter* row_writer() { return log_ ? &*log_ : nullptr; }
  /// `store`: null without tables. Throws UsageError, on all ranks, if the ranks see different
  /// folders.
  void begin(RunControl& control, RowStore* store);
  /// Copies the logged rows to `files`. Call it when the run has ended and all rows are in the log.
  void hand_rows_to(RowWriter& files);
  void end(RunRecord& record);
  /// The text for the terminal after the results; may be empty.
  std::string advice(const RunRecord& record) const;

 private:
  bool is_first() const;
  void start_memory();
  void note_observations(const RunArguments& arguments);
  void share_folder();
  void read_times(const Model& model);

  transport::RankTransport* const ranks_;
  const SnapshotArguments* arguments_ = nullptr;  ///< nullptr: no snapshots are asked for
  const ResumeArguments* resume_ = nullptr;
  bool is_fork_ = false;
  RunArguments model_arguments_;
  std::optional<snapshot::Arrival> arrival_;
  std::map<std::string, std::string> changes_;  ///< of a fork
  snapshot::Manifest facts_;
  snapshot::Times times_;
  std::string out_;  ///< the folder of the results
  std::optional<snapshot::Folder> folder_;
  std::optional<RowLog> log_;
  std::unique_ptr<snapshot::Keeper> keeper_;
};

}  // namespace orrery::cli
