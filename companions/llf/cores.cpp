// SPDX-License-Identifier: Apache-2.0
//
// Affinity masks and the quotas of control groups, versions 1 and 2.
#include "llf/cores.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace orrery::llf {

namespace {

/// The beginning of a file as a text; empty if the file cannot be read.
template <std::size_t kSize>
void read_file(const char* path, char (&text)[kSize]) {
  text[0] = '\0';
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  const ssize_t length = read(file, text, kSize - 1);
  text[length < 0 ? 0 : length] = '\0';
  close(file);
}

unsigned lower(unsigned cores, long long quota, long long period) {
  if (quota <= 0 || period <= 0) return cores;
  const long long whole = quota / period < 1 ? 1 : quota / period;
  return whole < cores ? static_cast<unsigned>(whole) : cores;
}

unsigned limit_of_folder(const char* folder, unsigned cores) {
  char path[1100], text[64];
  snprintf(path, sizeof path, "%s/cpu.max", folder);
  read_file(path, text);
  long long quota = 0, period = 0;
  if (sscanf(text, "%lld %lld", &quota, &period) == 2) return lower(cores, quota, period);
  snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
  read_file(path, text);
  quota = atoll(text);
  snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
  read_file(path, text);
  return lower(cores, quota, atoll(text));
}

/// The limit of a group and of all groups that contain it.
unsigned limit_of_path(const char* folder, const char* controller, const char* group,
                       unsigned cores) {
  char path[1024];
  const int root = snprintf(path, sizeof path, "%s%s", folder, controller);
  int length = root + snprintf(path + root, sizeof path - root, "%s", group);
  if (root >= static_cast<int>(sizeof path) || length >= static_cast<int>(sizeof path))
    return cores;
  for (;;) {
    cores = limit_of_folder(path, cores);
    while (length > root && path[length - 1] != '/') --length;
    while (length > root && path[length - 1] == '/') --length;
    if (path[length] == '\0') return cores;
    path[length] = '\0';
  }
}

/// Whether `list`, words with commas between them, has the controller "cpu".
bool has_cpu(const char* list, std::size_t length) {
  for (std::size_t begin = 0, i = 0; i <= length; ++i) {
    if (i < length && list[i] != ',') continue;
    if (i - begin == 3 && memcmp(list + begin, "cpu", 3) == 0) return true;
    begin = i + 1;
  }
  return false;
}

}  // namespace

void Cores::add_mine() {
  cpu_set_t mine[kMost / CPU_SETSIZE];
  memset(mine, 0, sizeof mine);
  if (sched_getaffinity(0, sizeof mine, mine) != 0) return;
  for (unsigned core = 0; core < kMost; ++core)
    if (CPU_ISSET_S(core, sizeof mine, mine)) words_[core / 64] |= std::uint64_t{1} << core % 64;
}

void Cores::add(const Cores& others) {
  for (unsigned i = 0; i < kMost / 64; ++i) words_[i] |= others.words_[i];
}

unsigned Cores::count() const {
  unsigned count = 0;
  for (const std::uint64_t word : words_)
    count += static_cast<unsigned>(__builtin_popcountll(word));
  return count;
}

unsigned cores_of_control_groups() {
  char text[4096];
  read_file("/proc/self/cgroup", text);
  return cores_of_control_groups(text, "/sys/fs/cgroup");
}

unsigned cores_of_control_groups(const char* membership, const char* folder) {
  unsigned cores = Cores::kMost;
  for (const char* line = membership; *line != '\0';) {
    const char* end = strchrnul(line, '\n');
    // NUMBER:CONTROLLERS:PATH; in version 2, CONTROLLERS is empty.
    const char* controllers = static_cast<const char*>(memchr(line, ':', end - line));
    const char* group =
        controllers ? static_cast<const char*>(memchr(controllers + 1, ':', end - controllers - 1))
                    : nullptr;
    char path[512];
    if (group != nullptr && end - group - 1 < static_cast<long>(sizeof path)) {
      snprintf(path, sizeof path, "%.*s", static_cast<int>(end - group - 1), group + 1);
      const bool unified = group == controllers + 1;
      if (unified || has_cpu(controllers + 1, group - controllers - 1))
        cores = limit_of_path(folder, unified ? "" : "/cpu", path, cores);
    }
    line = *end == '\0' ? end : end + 1;
  }
  return cores;
}

}  // namespace orrery::llf
