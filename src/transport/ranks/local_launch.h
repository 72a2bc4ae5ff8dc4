// SPDX-License-Identifier: Apache-2.0
//
// Starts ranks as processes of this machine, with this program alone. The parent makes shared
// memory and a pair of sockets for each two ranks, starts itself once for each rank, and waits. If
// a rank dies, the parent ends the others at once and names it. Signals go to rank 0, the only rank
// that watches its run and shows results, as soon as it handles them. If the parent dies, the
// system ends the ranks.
#pragma once

#include <memory>
#include <string>

#include "transport/ranks/wire.h"

namespace orrery::transport {

/// Exit code of a rank that has lost another rank. The parent finds out which rank failed.
inline constexpr int kExitLostRank = 75;

inline constexpr unsigned kMostLocalRanks = 64;

/// The outcome of a launch.
struct LaunchEnd {
  int code = 0;
  std::string sentence;  ///< the reason of an early end; empty: rank 0 has reported
};

/// Starts `ranks` processes of this program with these arguments, which end with nullptr, and waits
/// for them. Throws RankFailure if the system refuses. `failure`: the exit code if a rank dies;
/// `left`: what remains of the run then, for the end of a sentence.
LaunchEnd launch_local(unsigned ranks, char* const* arguments, int failure, std::string left);

/// Whether launch_local started this process, and it has not joined yet.
bool is_local_rank();
/// The wire of a process that launch_local started; nullptr for others. Call it once.
std::unique_ptr<Wire> join_local();

}  // namespace orrery::transport
