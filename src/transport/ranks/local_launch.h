// SPDX-License-Identifier: Apache-2.0
//
// Starts ranks as processes of this machine, with this program alone. The parent makes shared
// memory and a pair of sockets for each two ranks, starts itself once for each rank, and waits. If
// a rank dies, the parent ends the others at once and names it. Signals go to rank 0, the only rank
// that watches its run and shows results, as soon as it handles them. If the parent dies, the
// system ends the ranks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transport/ranks/wire.h"

namespace orrery::transport {

/// Exit code of a rank that has lost another rank. The parent finds out which rank failed.
inline constexpr int kExitLostRank = 75;

inline constexpr unsigned kMostLocalRanks = 64;

/// A rank that has ended before the run was over.
struct RankDeath {
  unsigned rank = 0;
  int status = 0;    ///< of waitpid
  std::string text;  ///< "rank 1 (process 4711) was killed by signal 9"
};

/// The outcome of a launch.
struct LaunchEnd {
  int code = 0;                         ///< of rank 0, if all ranks came to the end
  std::optional<RankDeath> death = {};  ///< else, unless only a connection was lost
  bool is_lost = false;                 ///< the run ended early
};

/// Starts `ranks` processes of this program with these arguments, which end with nullptr, and waits
/// for them. Throws RankFailure if the system refuses. `environment`: variables for the ranks, as
/// NAME=VALUE.
LaunchEnd launch_local(unsigned ranks, char* const* arguments,
                       std::vector<std::string> environment = {});

/// Whether launch_local started this process, and it has not joined yet.
bool is_local_rank();
/// The wire of a process that launch_local started; nullptr for others. Call it once.
std::unique_ptr<Wire> join_local();

}  // namespace orrery::transport
