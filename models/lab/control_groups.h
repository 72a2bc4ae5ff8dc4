// SPDX-License-Identifier: Apache-2.0
//
// Bounds what a host's processes take of the machine: memory and number of processes, by a control
// group (cgroup) of its own below the one in which we are, of version 1 or 2, where the machine
// lets us make one. A guest's own kernel keeps to less; this is for a guest that has got the better
// of it.
//
// Groups are called orrery-PROCESS-HOST. guest/enter.c goes into them and removes them at the end
// of the host; those that were left all the same, empty, are removed by a later run. (Linux,
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

  /// `mounts`: /sys/fs/cgroup; `own`: what /proc/self/cgroup says; `process`: our id, for names.
  /// Nothing where groups that bound both cannot be made.
  static std::optional<ControlGroups> find(const std::filesystem::path& mounts,
                                           std::string_view own, pid_t process);
  static std::optional<ControlGroups> of_this_machine();

  /// A host's groups, one or two: with version 1, of memory and of processes. Throws
  /// std::system_error.
  std::vector<std::filesystem::path> make(const std::string& host, const Limits& limits) const;
  /// Those that nobody is in.
  static void remove(const std::vector<std::filesystem::path>& groups);

 private:
  struct Parent {
    std::filesystem::path folder;
    bool memory, processes;  ///< what it bounds
    std::string_view memory_file;
  };

  ControlGroups(std::vector<Parent> parents, pid_t process)
      : parents_(std::move(parents)), process_(process) {}
  void remove_old() const;

  std::vector<Parent> parents_;
  pid_t process_;
};

}  // namespace orrery::lab
