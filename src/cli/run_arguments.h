// SPDX-License-Identifier: Apache-2.0
//
// The options of `run`, `resume` and `fork`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/run_request.h"

namespace orrery::cli {

class Again;

/// The snapshot options of a run.
struct SnapshotArguments {
  bool on = false, end_after = false, check = false;
  std::string every, wall, share, at;

  bool wanted() const { return !flag().empty(); }
  /// A snapshot option that was given; empty: none.
  std::string flag() const;
};

/// The trace options of a run.
struct TraceArguments {
  std::string file;  ///< empty: no trace
  std::string lps, from, to, size;
};

struct RunArguments : RunRequest, OutputRequest {
  std::string engine;
  std::string ranks, mpi, live;           ///< of a run
  std::string again;                      ///< report of the run to repeat
  std::shared_ptr<const Again> repeated;  ///< null: this is no repetition
  std::vector<std::string> command;       ///< for the report
  char* const* command_line = nullptr;  ///< all words, for processes that are started like this one
  bool verbose = false;
  SnapshotArguments snapshots;
  TraceArguments trace;
};

/// A run that resumes from a snapshot: in its own folder, or, as a fork with changes, in another.
struct ResumeArguments : RunArguments {
  std::string folder, snapshot;
  bool is_fork = false;

  /// The snapshot's number; 0: the last one. Throws UsageError.
  unsigned number() const;
};

void declare_run(OptionTable& options, RunArguments& arguments);
void declare_resume(OptionTable& options, ResumeArguments& arguments);

}  // namespace orrery::cli
