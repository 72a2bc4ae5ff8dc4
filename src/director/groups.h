// SPDX-License-Identifier: Apache-2.0
//
// Control groups of both versions: who is in one, and how much of a core the system lets its
// processes have in real time. Version 1 bounds that for each group (cpu.rt_runtime_us) if the
// kernel was built for it, and then a group without a share can have no real-time threads at all.
// Version 2 has no such bound.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::director {

/// Where the system's files are; tests have their own.
struct SystemFiles {
  std::string proc = "/proc", mounts = "/proc/self/mountinfo";
};

/// The folder of a group that is named by its path in its hierarchy ("machines/qemu"), or by the
/// folder itself. Throws UsageError if there is none, or one in each of two hierarchies.
std::string folder_of_group(const std::string& name, const SystemFiles& files = {});

/// The processes of a group and of all groups in it, in the order of their numbers.
std::vector<pid_t> processes_of_group(const std::string& folder);

/// A bound on real-time threads.
struct RealTimeShare {
  double share = 1;   ///< of each core; above 1: there is no bound
  std::string where;  ///< the file that says so

  bool is_bound() const { return share <= 1; }
};

/// Of the whole system: sched_rt_runtime_us / sched_rt_period_us. Of kernels from 6.12 on without
/// real-time groups it bounds nothing any more; there ordinary threads have a server of their own.
RealTimeShare share_of_system(const SystemFiles& files = {});
/// The least of the process's group of version 1 and those that this is in; nothing where the
/// kernel has no such groups.
std::optional<RealTimeShare> share_of_group(pid_t process, const SystemFiles& files = {});

}  // namespace orrery::director
