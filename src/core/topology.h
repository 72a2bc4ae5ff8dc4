// SPDX-License-Identifier: Apache-2.0
//
// The machine as hwloc sees it. Where the system does not describe itself (containers without
// /sys), hwloc continues with less, and callers put missing information into the run's notes.
// hwloc's own messages on standard error are suppressed by the program's main(), because only the
// environment can do this, and other threads may read the environment during a run.
#pragma once

#include <hwloc.h>

namespace orrery {

/// Only the cores that this process may run on (taskset, containers); all caches. Null if hwloc
/// fails. The machine does not change during a run: loaded once, constant afterwards.
hwloc_topology_t machine_topology();

}  // namespace orrery
