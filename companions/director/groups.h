// SPDX-License-Identifier: Apache-2.0
//
// Control groups of both versions: the processes of a group, and the share of a core that the
// system allows its real-time threads. Version 1 has a bound for each group (cpu.rt_runtime_us) if
// the kernel was built with it, and then a group without a share can have no real-time threads at
// all. Version 2 has no such bound.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::director {

/// The paths of the system's files; tests use their own.
struct SystemFiles {
  std::string proc = "/proc", mounts = "/proc/self/mountinfo";
};

/// The folder of a group that has processes. `name`: its path in its hierarchy ("machines/qemu"),
/// or the folder itself. Throws UsageError if there is none, or if two hierarchies have groups of
/// that name with different processes.
std::string folder_of_group(const std::string& name, const SystemFiles& files = {});

/// The processes of a group and of all groups in it, sorted by number.
std::vector<pid_t> processes_of_group(const std::string& folder);

/// A bound on real-time threads.
struct RealTimeShare {
  double share = 1;   ///< of each core; above 1: no bound
  std::string where;  ///< the file with the bound

  bool is_bound() const { return share <= 1; }
};

/// The bound of the whole system: sched_rt_runtime_us / sched_rt_period_us. In kernels from 6.12 on
/// without real-time groups it has no effect any more; there a server of their own protects
/// ordinary threads.
RealTimeShare share_of_system(const SystemFiles& files = {});
/// The least bound of the process's group of version 1 and of the groups that contain it; nothing
/// if the kernel has no such groups.
std::optional<RealTimeShare> share_of_group(pid_t process, const SystemFiles& files = {});

}  // namespace orrery::director
