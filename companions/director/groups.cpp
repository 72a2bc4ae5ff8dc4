// SPDX-License-Identifier: Apache-2.0
#include "director/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "orrery/error.h"

namespace orrery::director {
namespace {

namespace fs = std::filesystem;

struct Hierarchy {
  std::string folder, controllers;  ///< in version 2 the controllers are empty
};

/// "36 35 0:31 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct"
std::vector<Hierarchy> hierarchies(const SystemFiles& files) {
  std::vector<Hierarchy> found;
  std::ifstream lines(files.mounts);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream front(line.substr(0, dash)), behind(line.substr(dash + 3));
    std::string id, parent, device, root, folder, kind, source, options;
    front >> id >> parent >> device >> root >> folder;
    behind >> kind >> source >> options;
    if (kind == "cgroup2") found.push_back({folder, ""});
    if (kind == "cgroup") found.push_back({folder, "," + options + ","});
  }
  return found;
}

bool is_group(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / "cgroup.procs", error);
}

long long number_in(const fs::path& path, long long otherwise) {
  std::ifstream file(path);
  long long value = otherwise;
  return file >> value ? value : otherwise;
}

RealTimeShare share_in(const fs::path& runtime_file, const fs::path& period_file) {
  const long long runtime = number_in(runtime_file, -1), period = number_in(period_file, 1'000'000);
  return {.share = runtime < 0 || period <= 0 ? 2 : double(runtime) / double(period),
          .where = runtime_file};
}

void add_processes(const fs::path& folder, std::set<pid_t>& processes) {
  std::ifstream list(folder / "cgroup.procs");
  for (pid_t process = 0; list >> process;) processes.insert(process);
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code of_entry;
    if (entry->is_directory(of_entry)) add_processes(entry->path(), processes);
  }
}

/// The process's group in the hierarchy of version 1 that has the controller "cpu".
std::optional<fs::path> cpu_group_of(pid_t process, const SystemFiles& files) {
  std::ifstream lines(fmt::format("{}/{}/cgroup", files.proc, process));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controllers.find(",cpu,") == std::string::npos) continue;
    for (const Hierarchy& hierarchy : hierarchies(files))
      if (hierarchy.controllers.find(",cpu,") != std::string::npos)
        return fs::path(hierarchy.folder + line.substr(second + 1));
  }
  return {};
}

}  // namespace

std::string folder_of_group(const std::string& name, const SystemFiles& files) {
  if (name.starts_with('/') && is_group(name)) return name;
  std::vector<std::string> found, hierarchies_there;
  for (const Hierarchy& hierarchy : hierarchies(files)) {
    const std::string folder =
        (fs::path(hierarchy.folder) / fs::path(name).relative_path()).string();
    hierarchies_there.push_back(hierarchy.folder);
    if (is_group(folder) && !processes_of_group(folder).empty()) found.push_back(folder);
  }
  if (found.empty()) {
    throw UsageError(fmt::format(
        "there is no control group '{}' with a process in it (looked for below {})", name,
        hierarchies_there.empty() ? "nothing: no control groups are mounted"
                                  : fmt::format("{}", fmt::join(hierarchies_there, ", "))));
  }
  std::set<std::vector<pid_t>> memberships;
  for (const std::string& folder : found) memberships.insert(processes_of_group(folder));
  if (memberships.size() > 1) {
    throw UsageError(
        fmt::format("there are several control groups '{}', with different processes; give the "
                    "folder of the one that is meant: {}",
                    name, fmt::join(found, ", ")));
  }
  return found.front();
}

std::vector<pid_t> processes_of_group(const std::string& folder) {
  std::set<pid_t> processes;
  add_processes(folder, processes);
  processes.erase(0);  // a process of another PID namespace
  return {processes.begin(), processes.end()};
}

RealTimeShare share_of_system(const SystemFiles& files) {
  return share_in(files.proc + "/sys/kernel/sched_rt_runtime_us",
                  files.proc + "/sys/kernel/sched_rt_period_us");
}

std::optional<RealTimeShare> share_of_group(pid_t process, const SystemFiles& files) {
  const std::optional<fs::path> group = cpu_group_of(process, files);
  if (!group) return {};
  std::optional<RealTimeShare> least;
  for (fs::path folder = *group; is_group(folder); folder = folder.parent_path()) {
    if (!fs::exists(folder / "cpu.rt_runtime_us")) continue;
    const RealTimeShare here = share_in(folder / "cpu.rt_runtime_us", folder / "cpu.rt_period_us");
    if (!least || here.share < least->share) least = here;
  }
  return least;
}

}  // namespace orrery::director
