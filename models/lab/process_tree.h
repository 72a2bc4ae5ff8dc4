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

/// The threads of a process. Both may end meanwhile, which is no error.
inline std::vector<pid_t> threads_of(pid_t process) {
  std::vector<pid_t> threads;
  std::error_code none;
  std::filesystem::directory_iterator task("/proc/" + std::to_string(process) + "/task", none);
  for (; !none && task != std::filesystem::directory_iterator(); task.increment(none))
    threads.push_back(static_cast<pid_t>(std::stoi(task->path().filename())));
  return threads;
}

/// Calls `visit` with each process, parents before children. If the machine does not list children
/// (CONFIG_PROC_CHILDREN), visits only `first`. Visits at most kMost processes.
template <class Visit>
void for_all_processes(pid_t first, const Visit& visit) {
  constexpr std::size_t kMost = 100'000;
  std::vector<pid_t> all{first};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const pid_t one = all[i];
    visit(one);
    for (const pid_t thread : threads_of(one)) {
      std::ifstream children("/proc/" + std::to_string(one) + "/task/" + std::to_string(thread) +
                             "/children");
      for (pid_t child; all.size() < kMost && children >> child;) all.push_back(child);
    }
  }
}

}  // namespace orrery::lab
