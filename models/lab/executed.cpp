// SPDX-License-Identifier: Apache-2.0
#include "executed.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <set>

#include "file.h"
#include "sha256.h"

namespace orrery::lab {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostFileBytes = std::uint64_t{4} << 30;  ///< limit for reading a file

/// Opens a regular file below a folder, and only there, by a path without symbolic links.
File open_below(const fs::path& base, const fs::path& below) {
  const File folder(open(base.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto open_as = [&](int flags) {
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
    return File(
        static_cast<int>(syscall(SYS_openat2, folder.get(), below.c_str(), &how, sizeof how)));
  };
  // Opening a device may have effects, so the type of the file is checked first.
  struct stat status;
  const File place = open_as(O_PATH);
  if (!place.is_open() || fstat(place.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return open_as(O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

std::string_view name_of(ExecutedFiles::Origin origin) {
  constexpr std::string_view kNames[] = {"machine", "root", "laboratory",
                                         "put in",  "host", "unknown"};
  return kNames[static_cast<std::size_t>(origin)];
}

/// A guest chooses names, so characters that cannot be printed or end a field are escaped.
std::string csv_field(const std::string& text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string field = "\"";
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte < ' ' || byte > '~' || letter == '\\') {
      field += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    } else {
      if (letter == '"') field += '"';
      field += letter;
    }
  }
  return field + '"';
}

}  // namespace

std::string sha256(std::string_view bytes) {
  Sha256 digest;
  digest.add(bytes.data(), bytes.size());
  return digest.text();
}

void ExecutedFiles::add(std::span<const Entry> of_host, bool is_whole) {
  if (!is_whole) ++cut_;
  std::set<Key> executed;
  for (const Entry& one : of_host) {
    const Content content = one.content.value_or(Content{});
    executed.emplace(one.path, one.origin, content.sha256, content.bytes);
  }
  for (const Key& key : executed) ++files_[key];
}

ExecutedFiles::Entry ExecutedFiles::found(std::string_view path, Origin origin,
                                          const fs::path& base, const fs::path& below) {
  const std::optional<Content>& is = content(base, below);
  return {std::string(path), is ? origin : Origin::unknown, is};
}

const std::optional<ExecutedFiles::Content>& ExecutedFiles::content(const fs::path& base,
                                                                    const fs::path& below) {
  const auto [one, is_new] = read_.try_emplace({base, below});
  if (!is_new) return one->second;
  const File file = open_below(base, below);
  struct stat status;
  if (!file.is_open() || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return one->second;
  Sha256 digest;
  Content read_so_far;
  std::array<char, 65536> part;
  ssize_t bytes = 0;
  while (read_so_far.bytes <= kMostFileBytes &&
         (bytes = read(file.get(), part.data(), part.size())) > 0) {
    digest.add(part.data(), static_cast<std::size_t>(bytes));
    read_so_far.bytes += static_cast<std::uint64_t>(bytes);
  }
  if (bytes != 0) return one->second;
  read_so_far.sha256 = digest.text();
  one->second = std::move(read_so_far);
  return one->second;
}

std::string ExecutedFiles::csv() const {
  std::string text = "path,origin,sha256,bytes,hosts\n";
  for (const auto& [key, hosts] : files_) {
    const auto& [path, origin, digest, bytes] = key;
    text += csv_field(path) + "," + std::string(name_of(origin)) + "," + digest + "," +
            (digest.empty() ? "" : std::to_string(bytes)) + "," + std::to_string(hosts) + "\n";
  }
  return text;
}

}  // namespace orrery::lab
