// SPDX-License-Identifier: Apache-2.0
//
// The process that starts the ranks of --ranks on this machine and waits for them. With --survive it
// starts them again when one has died, from the last snapshot, with fresh memory between them. So a
// death costs the work since that snapshot. The same death twice without a new snapshot between ends
// the run: it would come again.
#pragma once

#include <optional>
#include <string>

#include "cli/rank_session.h"

namespace orrery::cli {

/// What earlier deaths of ranks have cost a run.
struct Survived {
  unsigned deaths = 0;
  double lost_seconds = 0;     ///< of work that was done again
  bool from_snapshot = false;  ///< the run goes on from the last snapshot of its folder

  /// For the report.
  std::string text() const;
  /// Of this rank: what the process that has started it says. The variable is removed.
  static Survived take();
};

/// Starts the processes and waits for them if --ranks asks for processes on this machine and this
/// process is not one of them; returns their exit code, else nothing. `folder`: that of the results
/// if the run takes snapshots, else empty.
std::optional<int> launch_ranks(const RankRequest& request, char* const* argv,
                                const std::string& folder);

}  // namespace orrery::cli
