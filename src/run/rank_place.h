// SPDX-License-Identifier: Apache-2.0
//
// Where this process stands among the ranks of a run, for whoever deals LPs, counts cores or binds
// threads. What ranks talk through is another thing (transport/ranks/rank_transport.h).
#pragma once

namespace orrery {

struct RankPlace {
  unsigned rank = 0;
  unsigned ranks = 1;
  /// Ranks that share the cores which this process may use, and which of them it is. One where a
  /// launcher has given each rank cores of its own.
  unsigned sharing = 1;
  unsigned index = 0;
};

}  // namespace orrery
