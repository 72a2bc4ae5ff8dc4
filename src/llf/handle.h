// SPDX-License-Identifier: Apache-2.0
//
// What a `llf *` of the C interface points to: a federate with its segment. Whose calls it takes is
// looked at here: of the thread that joined, not of the child of a fork, which has the memory but
// not the life.
#pragma once

#include <pthread.h>

#include <atomic>
#include <optional>

#include "llf/federate.h"
#include "llf/segment.h"
#include "orrery/llf.h"

struct llf {
  orrery::llf::Segment segment;
  std::optional<orrery::llf::Federate<orrery::llf::Linux>> federate;
  char group[72] = {};
  char name[48] = {};
  unsigned slot = 0;
  unsigned forks = 0;  ///< how many lay between the first process and this one
  pthread_t thread = {};
};

namespace orrery::llf {

/// The first half of llf_join: a federate of the group, to be started or paused.
::llf* enter_group(const char* group, const char* name, const llf_options* options);
/// How many lie between the first process that joined and this one.
unsigned forks_so_far();

}  // namespace orrery::llf
