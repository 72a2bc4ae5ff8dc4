// SPDX-License-Identifier: Apache-2.0
#include "linux_files.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "../executed.h"
#include "../file.h"
#include "../guest.h"
#include "../guest_etc.h"
#include "../host_script.h"
#include "cpio.h"
#include "orrery/orrery.h"

extern char** environ;

namespace orrery::lab {
namespace {

namespace fs = std::filesystem;

/// Names, kinds, modes, sizes and dates of all files.
std::string state_of(const fs::path& folder) {
  std::vector<std::string> lines;
  for (const fs::directory_entry& one : fs::recursive_directory_iterator(folder)) {
    const fs::file_status status = one.symlink_status();
    std::string line = one.path().lexically_relative(folder).string();
    line += '\0' + std::to_string(static_cast<int>(status.type())) + ' ' +
            std::to_string(static_cast<unsigned>(status.permissions()));
    if (fs::is_symlink(status)) {
      line += ' ' + fs::read_symlink(one.path()).string();
    } else if (fs::is_regular_file(status)) {
      line += ' ' + std::to_string(one.file_size()) + ' ' +
              std::to_string(one.last_write_time().time_since_epoch().count());
    }
    lines.push_back(std::move(line));
  }
  std::sort(lines.begin(), lines.end());
  std::string all;
  for (const std::string& line : lines) all += line + '\0';
  return all;
}

/// Executes a program and waits. Throws UsageError.
void execute(std::vector<std::string> words, const char* package) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t process = -1;
  const int error =
      posix_spawnp(&process, arguments[0], nullptr, nullptr, arguments.data(), environ);
  if (error != 0)
    throw UsageError(words[0] + " cannot be executed (" + std::strerror(error) +
                     "); it is in Debian's package " + package);
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
  if (status != 0) throw UsageError(words[0] + " has failed to make '" + words[2] + "'");
}

}  // namespace

fs::path root_disk(const fs::path& folder, const fs::path& cache) {
  const fs::path disk = cache / (sha256(state_of(folder)) + ".squashfs");
  if (fs::exists(disk)) return disk;
  fs::create_directories(cache);
  const fs::path begun = disk.string() + "." + std::to_string(getpid());
  fs::remove(begun);
  execute({"mksquashfs", folder, begun, "-noappend", "-quiet", "-no-progress", "-all-root",
           "-no-xattrs", "-processors", "1", "-mkfs-time", std::to_string(kStartOfDayS)},
          "squashfs-tools");
  fs::resize_file(begun, (fs::file_size(begun) + kDiskUnit - 1) / kDiskUnit * kDiskUnit);
  fs::rename(begun, disk);
  return disk;
}

void write_start_archive(const Topology& topology, const Host& host,
                         const std::map<std::string, fs::path>& programs, const fs::path& to) {
  Cpio archive;
  for (const char* const folder : {"dev", "given", "mnt", "lab", "lab/files", "lab/etc"})
    archive.add_folder(folder);
  archive.add_console();
  for (const auto& [name, from] : programs) archive.add_copy(name, from);
  archive.add_file("lab/host", script_of(host));
  archive.add_file("lab/hostname", host.name + "\n");
  for (const auto& [name, text] : etc_of(topology, false))
    archive.add_file("lab/etc/" + name, text);
  archive.add_file("lab/folders", folders_of(false));
  std::size_t number = 0;
  for (const auto& [path, from] : host.files)
    archive.add_copy("lab/files/" + std::to_string(number++), from);
  write_file(to, archive.finish());
}

}  // namespace orrery::lab
