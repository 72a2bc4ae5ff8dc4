// SPDX-License-Identifier: Apache-2.0
//
// The process that starts the ranks of --ranks on this machine and waits for them. If a rank dies
// and --survive is given, this process starts all ranks again from the last snapshot, with new
// shared memory. So a death costs the work since that snapshot. If the same rank dies twice of the
// same signal without a new snapshot in between, the run ends.
#pragma once

#include <optional>
#include <string>

#include "cli/rank_session.h"

namespace orrery::cli {

/// The cost of earlier deaths of ranks in a run.
struct Survived {
  unsigned deaths = 0;
  double lost_seconds = 0;     ///< of work that was done again
  bool from_snapshot = false;  ///< the run resumes the last snapshot of its folder

  /// For the report.
  std::string text() const;
  /// Reads the environment variable that the parent process has set, and removes the variable.
  static Survived take();
};

/// Starts the processes and waits for them if --ranks asks for processes on this machine and this
/// process is not one of them; returns their exit code, else nothing. `folder`: that of the results
/// if the run takes snapshots, else empty.
std::optional<int> launch_ranks(const RankRequest& request, char* const* argv,
                                const std::string& folder);

}  // namespace orrery::cli
