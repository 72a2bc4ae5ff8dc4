// SPDX-License-Identifier: Apache-2.0
#include "control_groups.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>

#include "file.h"

namespace orrery::lab {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kName = "orrery-";

std::string content(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool has_word(const std::string& text, std::string_view word) {
  std::istringstream words(text);
  for (std::string one; words >> one;)
    if (one == word) return true;
  return false;
}

/// Writes the text by one call, as the kernel requires. Throws std::system_error.
void put(const fs::path& path, const std::string& text) {
  const File file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open() ||
      write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw std::system_error(errno, std::generic_category(), path.string());
}

/// The group of this process: of a controller of version 1, or of version 2 if `controller` is "".
std::optional<std::string> own_group(std::string_view own, std::string_view controller) {
  std::istringstream lines{std::string(own)};
  for (std::string number, controllers, path; std::getline(lines, number, ':') &&
                                              std::getline(lines, controllers, ':') &&
                                              std::getline(lines, path);) {
    std::istringstream names(controllers);
    std::string name;
    do {
      std::getline(names, name, ',');
      if (name == controller) return fs::path(path).relative_path();
    } while (names);
  }
  return std::nullopt;
}

fs::path leaf(const fs::path& folder, pid_t process, std::string_view host) {
  return folder / (std::string(kName) + std::to_string(process) + "-" + std::string(host));
}

/// Enables both controllers for groups below `folder`. With version 2, such a folder may contain no
/// processes, so if this process is alone in it, the process moves to a group below.
bool enable(const fs::path& folder, pid_t process) {
  const fs::path enabled = folder / "cgroup.subtree_control";
  const auto both = [](const std::string& text) {
    return has_word(text, "memory") && has_word(text, "pids");
  };
  if (!both(content(folder / "cgroup.controllers"))) return false;
  if (both(content(enabled))) return true;
  try {
    put(enabled, "+memory +pids");
    return true;
  } catch (const std::system_error&) {
    const std::string alone = std::to_string(process) + "\n";
    if (content(folder / "cgroup.procs") != alone) return false;
  }
  const fs::path ours = leaf(folder, process, "itself");
  if (mkdir(ours.c_str(), 0755) != 0 && errno != EEXIST) return false;
  put(ours / "cgroup.procs", "0");
  put(enabled, "+memory +pids");
  return true;
}

}  // namespace

std::optional<ControlGroups> ControlGroups::find(const fs::path& mounts, std::string_view own,
                                                 pid_t process) try {
  std::vector<Parent> parents;
  const auto memory = own_group(own, "memory"), processes = own_group(own, "pids"),
             unified = own_group(own, "");
  if (memory && processes) {
    const fs::path folder = mounts / "memory" / *memory;
    // Without hierarchy, limits of our group would not apply to groups below it.
    if (!has_word(content(folder / "memory.use_hierarchy"), "1")) return std::nullopt;
    parents = {{folder, true, false, "memory.limit_in_bytes"},
               {mounts / "pids" / *processes, false, true, ""}};
  } else if (unified) {
    const fs::path folder = mounts / *unified;
    if (!enable(folder, process)) return std::nullopt;
    parents = {{folder, true, true, "memory.max"}};
  } else {
    return std::nullopt;
  }
  const ControlGroups found(std::move(parents), process);
  found.remove_old();
  remove(found.make("trial", {std::uint64_t{64} << 20, 64}));
  return found;
} catch (const std::system_error&) {
  return std::nullopt;
}

std::optional<ControlGroups> ControlGroups::of_this_machine() {
  return find("/sys/fs/cgroup", content("/proc/self/cgroup"), getpid());
}

std::vector<fs::path> ControlGroups::make(const std::string& host, const Limits& limits) const {
  std::vector<fs::path> made;
  try {
    for (const Parent& parent : parents_) {
      const fs::path group = leaf(parent.folder, process_, host);
      if (mkdir(group.c_str(), 0755) != 0 && errno != EEXIST)
        throw std::system_error(errno, std::generic_category(), group.string());
      made.push_back(group);
      if (parent.memory) put(group / parent.memory_file, std::to_string(limits.memory_bytes));
      if (parent.processes) put(group / "pids.max", std::to_string(limits.processes));
    }
  } catch (...) {
    remove(made);
    throw;
  }
  return made;
}

void ControlGroups::remove(const std::vector<fs::path>& groups) {
  for (const fs::path& group : groups) rmdir(group.c_str());
}

/// Removes groups of processes that have ended.
void ControlGroups::remove_old() const {
  for (const Parent& parent : parents_)
    for (const fs::directory_entry& entry : fs::directory_iterator(parent.folder)) {
      const std::string name = entry.path().filename();
      if (!name.starts_with(kName)) continue;
      pid_t maker = 0;
      const char* const end = name.data() + name.size();
      const auto [rest, error] = std::from_chars(name.data() + kName.size(), end, maker);
      if (error != std::errc() || rest == end || *rest != '-' || maker <= 0) continue;
      if (kill(maker, 0) != 0 && errno == ESRCH) rmdir(entry.path().c_str());
    }
}

}  // namespace orrery::lab
