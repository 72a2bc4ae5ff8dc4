// SPDX-License-Identifier: Apache-2.0
//
// Snapshots of a run: the run takes them (orrery run --snapshot...), begins at one (resume, fork),
// or does neither, which is the ordinary case and costs nothing.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cli/run_feature.h"
#include "output/row_log.h"
#include "snapshot/snapshot_restore.h"
#include "snapshot/snapshot_taker.h"

namespace orrery::cli {

/// Where a run begins.
enum class Beginning { model, snapshot, fork };

class SnapshotSession final : public RunFeature {
 public:
  explicit SnapshotSession(Beginning beginning) : beginning_(beginning) {}

  /// For a run that has lost a rank: the run resumes the last snapshot in its folder, even if it
  /// began without a snapshot.
  void go_on() {
    beginning_ = Beginning::snapshot;
    goes_on_ = true;
  }
  /// For --survive: takes snapshots by the clock unless other options of snapshots are given.
  void take_some() {
    if (first_flag().empty()) wall_ = "30s";
  }

  /// Call it while the process has one thread and no connection to others: a process that takes or
  /// resumes snapshots executes itself again, because it needs memory at fixed addresses.
  void fix_addresses() const;
  /// Whether a run that dies can be resumed.
  bool takes_snapshots() const { return resumes() || !first_flag().empty(); }

  void declare(OptionTable& options) override;
  void start(RunState& run, RunRequest& request) override;
  void model_chosen(RunState& run) override;
  /// Gives the model the state that the snapshot's model had, then applies the changes of a fork,
  /// and sets the options of the snapshot.
  void model_prepared(RunState& run) override;
  void check(RunState& run) override;
  void add_facts(RunFacts& facts) const override;
  /// The log that keeps the rows until the end of the run, because a run that resumes a snapshot
  /// needs the rows before the snapshot.
  RowWriter* rows(RunState& run, RowWriter* files) override;
  void begin(RunState& run) override;
  /// Hands the rows of the log to the files.
  void rows_closed(RunState& run) override;
  void end(RunState& run) override;
  void published(RunState& run) override;

 private:
  bool resumes() const { return beginning_ != Beginning::model; }
  bool is_fork() const { return beginning_ == Beginning::fork; }
  bool is_first() const;
  /// A snapshot option that was given; empty: none.
  std::string first_flag() const;
  unsigned number() const;
  void start_taking(const RunArguments& arguments);
  void start_resuming(RunState& run, RunRequest& request);
  void refuse_others(const RunArguments& arguments) const;
  void start_memory();
  void note_observations(const RunArguments& arguments);
  void check_model(const RunState& run) const;
  void set_horizon(const RunOptions& options, const Model& model);
  void read_times(const Model& model);
  void open(bool has_tables);
  void share_folder();

  Beginning beginning_;
  bool goes_on_ = false;
  // The options.
  bool on_ = false, end_after_ = false, check_ = false;
  std::string every_, wall_, share_, at_, number_;

  transport::RankTransport* ranks_ = nullptr;
  std::string origin_;  ///< the folder of the run that is resumed or forked
  std::optional<snapshot::SnapshotRestore> restore_;
  std::map<std::string, std::string> changes_;  ///< of a fork
  snapshot::Manifest facts_;
  snapshot::Times times_;
  std::string out_;  ///< the folder of the results
  std::optional<snapshot::Folder> folder_;
  std::optional<RowLog> log_;
  RowWriter* files_ = nullptr;  ///< get the rows of the log at the end
  std::unique_ptr<snapshot::SnapshotTaker> taker_;
};

}  // namespace orrery::cli
