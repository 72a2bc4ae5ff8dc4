// SPDX-License-Identifier: Apache-2.0
#include "root_image.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <string_view>

#include "executed.h"
#include "file.h"
#include "guest.h"
#include "orrery/orrery.h"
#include "tree_digest.h"

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

std::string read_all(int descriptor) {
  constexpr std::size_t kMost = 4096;
  std::array<char, kMost> part;
  std::string text;
  for (;;) {
    const ssize_t bytes = read(descriptor, part.data(), part.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return text;
    if (text.size() < kMost) text.append(part.data(), static_cast<std::size_t>(bytes));
  }
}

/// Executes a program and waits. Throws UsageError with `what` and what the program says if it fails.
void execute(std::vector<std::string> words, const std::string& what, const std::string& where) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw UsageError(what + ": there is no pipe to be had");
  const File reading(ends[0]);
  File writing(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, writing.get(), STDERR_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t process = -1;
  const int error =
      posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  writing = File();
  if (error != 0)
    throw UsageError(what + ": " + words[0] + " cannot be executed (" + std::strerror(error) +
                     "); " + where);
  std::string said = read_all(reading.get());
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
  if (status == 0) return;
  said = said.substr(0, said.find_last_not_of('\n') + 1);
  std::replace(said.begin(), said.end(), '\n', ' ');
  throw UsageError(what + ": " + (said.empty() ? words[0] + " has failed" : said));
}

bool is_squashfs(const fs::path& file) {
  std::array<char, 4> magic{};
  std::ifstream(file, std::ios::binary).read(magic.data(), magic.size());
  return std::string_view(magic.data(), magic.size()) == "hsqs";
}

/// The file in the cache that `make` makes in a folder, with an image's configuration beside it.
/// Several runs may make it at the same time.
fs::path kept(const fs::path& cache, const std::string& key,
              const std::function<void(const fs::path&)>& make) {
  const fs::path at = cache / key;
  if (fs::exists(at / "root")) return at;
  const fs::path begun = at.string() + "." + std::to_string(getpid());
  fs::remove_all(begun);
  fs::create_directories(begun);
  try {
    make(begun);
    fs::resize_file(begun / "root",
                    (fs::file_size(begun / "root") + kDiskUnit - 1) / kDiskUnit * kDiskUnit);
  } catch (...) {
    fs::remove_all(begun);
    throw;
  }
  std::error_code is_there;
  fs::rename(begun, at, is_there);
  if (is_there) fs::remove_all(begun);
  return at;
}

ImageConfig read_config(const fs::path& path) {
  ImageConfig config;
  std::ifstream file(path, std::ios::binary);
  for (std::string text; std::getline(file, text, '\0');) {
    const std::string value = text.substr(std::min<std::size_t>(1, text.size()));
    if (text.starts_with('e')) config.environment.push_back(value);
    if (text.starts_with('c')) config.command.push_back(value);
    if (text.starts_with('u')) config.user = value;
    if (text.starts_with('f')) config.folder = value;
  }
  return config;
}

}  // namespace

RootImage root_image(const fs::path& root, const fs::path& cache, const fs::path& maker,
                     const std::string& architecture) {
  const std::string what = "the root '" + root.string() + "'";
  fs::path at;
  if (fs::is_directory(root)) {
    at = kept(cache, sha256(state_of(root)), [&](const fs::path& to) {
      execute({"mksquashfs", root, to / "root", "-noappend", "-quiet", "-no-progress", "-all-root",
               "-no-xattrs", "-processors", "1", "-mkfs-time", std::to_string(kStartOfDayS)},
              what, "it is in Debian's package squashfs-tools");
    });
  } else if (is_squashfs(root)) {
    at = kept(cache, tree_digest(root),
              [&](const fs::path& to) { fs::copy_file(root, to / "root"); });
  } else {
    at = kept(cache, sha256(tree_digest(root) + tree_digest(maker) + architecture),
              [&](const fs::path& to) {
                execute({maker, root, to, architecture}, what, "./dev lab makes it");
              });
  }
  return {at / "root", read_config(at / "config")};
}

}  // namespace orrery::lab
