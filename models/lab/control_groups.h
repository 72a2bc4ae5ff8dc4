// SPDX-License-Identifier: Apache-2.0
//
// Limits memory and number of processes of a host on this machine, by a control group (cgroup,
// version 1 or 2) for each host below the group of this process, where the machine permits it. A
// guest's own kernel keeps to lower limits; the groups are for a guest whose kernel has been
// compromised.
//
// Groups are called orrery-PROCESS-HOST. guest/enter.c joins them and removes them at the end of
// the host. A later run removes empty groups that were left. (Linux,
// Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst.)
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::lab {

class ControlGroups {
 public:
  struct Limits {
    std::uint64_t memory_bytes;
    unsigned processes;
  };

  /// `mounts`: /sys/fs/cgroup; `own`: content of /proc/self/cgroup; `process`: id of this process,
  /// for names. Returns std::nullopt if no group can be made that limits both.
  static std::optional<ControlGroups> find(const std::filesystem::path& mounts,
                                           std::string_view own, pid_t process);
  static std::optional<ControlGroups> of_this_machine();

  /// Makes the groups of a host: one, or with version 1 one for memory and one for processes.
  /// Throws std::system_error.
  std::vector<std::filesystem::path> make(const std::string& host, const Limits& limits) const;
  /// Removes those of the groups that have no processes.
  static void remove(const std::vector<std::filesystem::path>& groups);

 private:
  struct Parent {
    std::filesystem::path folder;
    bool memory, processes;  ///< what this group limits
    std::string_view memory_file;
  };

  ControlGroups(std::vector<Parent> parents, pid_t process)
      : parents_(std::move(parents)), process_(process) {}
  void remove_old() const;

  std::vector<Parent> parents_;
  pid_t process_;
};

}  // namespace orrery::lab
