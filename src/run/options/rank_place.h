// SPDX-License-Identifier: Apache-2.0
//
// The place of this process among the ranks of a run, for assigning LPs, counting cores and binding
// threads. Communication between ranks is in transport/ranks/rank_transport.h.
#pragma once

namespace orrery {

struct RankPlace {
  unsigned rank = 0;
  unsigned ranks = 1;
  /// Number of ranks that share the cores which this process may use, and this rank's index among
  /// them. `sharing` is 1 if a launcher has given each rank cores of its own.
  unsigned sharing = 1;
  unsigned index = 0;
};

}  // namespace orrery
