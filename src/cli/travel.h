// SPDX-License-Identifier: Apache-2.0
//
// What a run has to do with other processes: it leaves snapshots for them (orrery run
// --snapshot...), begins at one (resume, fork), or neither, which is the ordinary case and costs
// nothing. In the order in which a run needs it: the process and its model's memory, the prepared
// model, options, halts, rows, and what is told at the end.
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
  /// Of a run from its model's start. `ranks`: null if this process runs it alone.
  Travel(const RunArguments& arguments, transport::RankTransport* ranks);
  /// Of one that goes on from a snapshot; in another folder where it is a fork.
  Travel(const ResumeArguments& arguments, transport::RankTransport* ranks);

  bool takes_snapshots() const { return arguments_ != nullptr; }
  /// What to make the model from: the arguments given, or the snapshot's.
  const RunArguments& model_arguments() const { return model_arguments_; }
  bool resumes_in_place() const { return arrival_ && !is_fork_; }

  /// With the model's parameters as they are to be when it is prepared.
  void note_model(const ChosenModel& chosen);
  /// The model is prepared. Throws UsageError for one whose LPs cannot be written down, and for an
  /// engine that has no worlds.
  void check(const Engine& engine, const EngineInfo& info, const Model& model);
  /// The seed to prepare the model with: `given`, or what the run had when it began, since its LPs
  /// refer to what was made from that.
  std::uint64_t model_seed(std::uint64_t given);
  /// The prepared model gets what the snapshot's had, and the changes of a fork.
  void restore_model(const ChosenModel& chosen);
  /// Options as they were, before those that are given.
  void set_defaults(RunOptions& options) const;
  /// All options are known.
  void set_options(const RunOptions& options, const Model& model);

  /// What ranks must have in common of it.
  std::string facts_text() const;
  /// The folder for snapshots, without those of an earlier run, and the log of rows in it. By the
  /// first rank.
  void open(const std::string& out, bool has_tables);
  void set_up(Watch::Settings& settings) const;
  /// Where rows go, if not into files at once.
  RowWriter* row_writer() { return log_ ? &*log_ : nullptr; }
  /// `store`: null without tables. Throws UsageError, on all ranks, if they see different folders.
  void begin(RunControl& control, RowStore* store);
  /// The run is over and its rows are handed over: to `files`.
  void hand_rows_to(RowWriter& files);
  void end(RunRecord& record);
  /// For the terminal, behind the results; may be empty.
  std::string advice(const RunRecord& record) const;

 private:
  bool is_first() const;
  void start_memory();
  void note_observations(const RunArguments& arguments);
  void share_folder();
  void read_times(const Model& model);

  transport::RankTransport* const ranks_;
  const SnapshotArguments* arguments_ = nullptr;  ///< nullptr: nothing is asked for
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
