// SPDX-License-Identifier: Apache-2.0
#include "director/scan.h"

#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>

#include "director/groups.h"

namespace orrery::director {

bool is_virtual_processor(const std::string& name) {
  return fnmatch("CPU [0-9]*/*", name.c_str(), 0) == 0 || name.starts_with("ALL CPUs/");
}

std::vector<pid_t> Scanner::wanted_processes() const {
  std::set<pid_t> wanted(selection_.processes.begin(), selection_.processes.end());
  if (!selection_.group.empty()) {
    const std::vector<pid_t> members = processes_of_group(selection_.group);
    wanted.insert(members.begin(), members.end());
    // A director in the group, and its guardian, are not directed.
    wanted.erase(getpid());
    for (const pid_t member : members)
      if (name_of(member, member) == "orrery-guardian") wanted.erase(member);
  }
  return {wanted.begin(), wanted.end()};
}

void Scanner::scan_process(pid_t process, std::map<pid_t, Known>& seen, std::vector<Found>& found) {
  std::vector<std::pair<pid_t, std::string>> threads;
  for (const pid_t thread : threads_of(process))
    threads.emplace_back(thread, name_of(process, thread));
  if (threads.empty()) return;
  processes_.push_back(process);
  const bool has_processors = std::any_of(threads.begin(), threads.end(), [](const auto& thread) {
    return is_virtual_processor(thread.second);
  });
  for (const auto& [number, name] : threads) {
    const bool is_helper = selection_.pattern.empty()
                               ? has_processors && !is_virtual_processor(name)
                               : fnmatch(selection_.pattern.c_str(), name.c_str(), 0) != 0;
    const auto known = known_.find(number);
    if (known != known_.end() && known->second.is_helper == is_helper &&
        known->second.born == birth_of(process, number)) {
      seen.insert(*known);
      continue;
    }
    std::optional<Thread> thread = Thread::open(process, number);
    if (!thread) continue;
    Found one{.thread = std::move(*thread),
              .process_name = name_of(process, process),
              .is_helper = is_helper,
              .scheduling = {},
              .cores = {}};
    if (read_scheduling(number, one.scheduling) != 0 ||
        sched_getaffinity(number, sizeof one.cores, &one.cores) != 0)
      continue;
    seen[number] = {one.thread.id().born, is_helper};
    found.push_back(std::move(one));
  }
}

std::vector<Found> Scanner::scan() {
  std::vector<Found> found;
  std::map<pid_t, Known> seen;
  processes_.clear();
  for (const pid_t process : wanted_processes()) scan_process(process, seen, found);
  known_ = std::move(seen);
  return found;
}

}  // namespace orrery::director
