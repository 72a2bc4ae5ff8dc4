// SPDX-License-Identifier: Apache-2.0
//
// The object behind `llf *` of the C interface: a federate with its segment. It also has the data
// to check the caller: only the thread that joined may call, not the child of a fork, which
// inherits the memory but not the Life.
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
  unsigned forks = 0;  ///< forks between the first process and this one
  pthread_t thread = {};
  std::int64_t next_look = 0;  ///< at the cores that it may use
  unsigned safe_points = 0;    ///< since it asked for the time
};

namespace orrery::llf {

/// The first half of llf_join: joins the group as a federate that is not started yet.
::llf* enter_group(const char* group, const char* name, const llf_options* options);
/// The number of forks between the first process that joined and this one.
unsigned forks_so_far();

}  // namespace orrery::llf
