// SPDX-License-Identifier: Apache-2.0
//
// A process and all processes that it has started. A guest has many: its first process, its kernel,
// and one for each of its address spaces.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

namespace orrery::lab {

/// Calls `visit` with each process, parents before children. If the machine does not list children
/// (CONFIG_PROC_CHILDREN), visits only `first`. Visits at most kMost processes.
template <class Visit>
void for_all_processes(pid_t first, const Visit& visit) {
  constexpr std::size_t kMost = 100'000;
  std::vector<pid_t> all{first};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const pid_t one = all[i];
    visit(one);
    std::error_code none;
    const std::string tasks = "/proc/" + std::to_string(one) + "/task";
    for (const auto& task : std::filesystem::directory_iterator(tasks, none)) {
      std::ifstream children(task.path() / "children");
      for (pid_t child; all.size() < kMost && children >> child;) all.push_back(child);
    }
  }
}

}  // namespace orrery::lab
