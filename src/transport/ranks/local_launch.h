// SPDX-License-Identifier: Apache-2.0
//
// Starting ranks as processes of this machine, without anything but this program: it makes memory
// that they share and a pair of sockets for each two of them, starts itself so many times, and
// stays behind as their parent. A rank that dies ends the others, at once, and is named; signals go
// to rank 0, which is the only one that watches and shows, when it does so; if the parent dies, the
// system ends the ranks.
#pragma once

#include <memory>
#include <string>

#include "transport/ranks/wire.h"

namespace orrery::transport {

/// A rank ends with it when it has lost another one: whose fault it is the parent knows.
inline constexpr int kExitLostRank = 75;

inline constexpr unsigned kMostLocalRanks = 64;

/// What was started, when it is over.
struct LaunchEnd {
  int code = 0;
  std::string sentence;  ///< of what ended it before it was over; empty: rank 0 has told it
};

/// Starts `ranks` processes of this program with these arguments, which end with nullptr, and waits
/// for them. Throws RankFailure if the system refuses. `failure`: the code where a rank dies;
/// `left`: what is left of the run then, for the end of a sentence.
LaunchEnd launch_local(unsigned ranks, char* const* arguments, int failure, std::string left);

/// Whether this process was started so, and has not joined yet.
bool is_local_rank();
/// The wire of a process that was started so; nullptr for others. Once.
std::unique_ptr<Wire> join_local();

}  // namespace orrery::transport
