// SPDX-License-Identifier: Apache-2.0
//
// A process and all that it has started: a guest is many (its first process, its kernel, one for
// each of its address spaces).
#pragma once

#include <sys/types.h>

#include <fstream>
#include <string>

namespace orrery::lab {

/// Calls `visit` with each, parents first. Where the machine does not tell of children
/// (CONFIG_PROC_CHILDREN), with the first only.
template <class Visit>
void for_all_processes(pid_t first, const Visit& visit) {
  visit(first);
  const std::string id = std::to_string(first);
  std::ifstream children("/proc/" + id + "/task/" + id + "/children");
  for (pid_t child; children >> child;) for_all_processes(child, visit);
}

}  // namespace orrery::lab
