// SPDX-License-Identifier: Apache-2.0
#include "tree_digest.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "file.h"
#include "orrery/error.h"
#include "sha256.h"

namespace orrery::lab {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path) {
  throw UsageError("'" + path.string() +
                   "', which hosts see, cannot be read: " + std::strerror(errno));
}

/// A length in front of each text, so that two trees with the same bytes in other places differ.
void add_text(Sha256& digest, const std::string& text) {
  const std::uint64_t length = text.size();
  digest.add(&length, sizeof length);
  digest.add(text.data(), text.size());
}

void add_content(Sha256& digest, const fs::path& path) {
  const File file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open() && (errno == EACCES || errno == EPERM)) return add_text(digest, "unreadable");
  if (!file.is_open()) refuse(path);
  std::vector<char> part(std::size_t{1} << 18);
  for (;;) {
    const ssize_t bytes = read(file.get(), part.data(), part.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) refuse(path);
    if (bytes == 0) return;
    digest.add(part.data(), static_cast<std::size_t>(bytes));
  }
}

void add_one(Sha256& digest, const fs::path& path, const std::string& name) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) refuse(path);
  const std::uint64_t facts[] = {
      status.st_mode, S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0};
  add_text(digest, name);
  digest.add(facts, sizeof facts);
  if (S_ISREG(status.st_mode)) add_content(digest, path);
  if (S_ISLNK(status.st_mode)) add_text(digest, fs::read_symlink(path).string());
}

}  // namespace

std::string tree_digest(const fs::path& path) {
  std::error_code error;
  const fs::path top = fs::canonical(path, error);
  Sha256 digest;
  try {
    add_one(digest, error ? path : top, "");
    std::vector<fs::path> below;
    if (fs::is_directory(top))
      for (const auto& one :
           fs::recursive_directory_iterator(top, fs::directory_options::skip_permission_denied))
        below.push_back(one.path());
    std::sort(below.begin(), below.end());
    for (const fs::path& one : below) add_one(digest, one, one.lexically_relative(top).string());
  } catch (const fs::filesystem_error& failure) {
    throw UsageError(std::string("what hosts see cannot be read: ") + failure.what());
  }
  return digest.text();
}

}  // namespace orrery::lab
