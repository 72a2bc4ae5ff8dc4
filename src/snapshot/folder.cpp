// SPDX-License-Identifier: Apache-2.0
#include "snapshot/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "orrery/error.h"

namespace orrery::snapshot {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kManifest = ".json", kContents = ".world", kPart = ".part";

constexpr std::string_view kRank = ".rank";

/// "000007.json" -> 7; 0 for other names. `of_ranks`: "000007.rank1.json" is such a name, too.
unsigned number_of(const std::string& name, std::string_view extension, bool of_ranks) {
  if (!name.ends_with(extension)) return 0;
  const char* const end = name.data() + name.size() - extension.size();
  unsigned number = 0, rank = 0;
  const char* at = std::from_chars(name.data(), end, number).ptr;
  if (of_ranks && std::string_view(at, end).starts_with(kRank))
    at = std::from_chars(at + kRank.size(), end, rank).ptr;
  return at == end ? number : 0;
}

std::string file_name(unsigned number, unsigned rank, std::string_view extension) {
  const std::string whose = rank == 0 ? "" : fmt::format("{}{}", kRank, rank);
  return fmt::format("{:06}{}{}", number, whose, extension);
}

}  // namespace

Folder::Folder(const std::string& run) : path_((fs::path(run) / "snapshots").string()) {}

std::string Folder::contents_of(unsigned number, unsigned rank) const {
  return path_ + "/" + file_name(number, rank, kContents);
}
std::string Folder::manifest_of(unsigned number, unsigned rank) const {
  return path_ + "/" + file_name(number, rank, kManifest);
}
std::string Folder::rows() const {
  return path_ + "/rows.log";
}

void Folder::make() const {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error)
    throw UsageError(fmt::format("cannot make the folder '{}': {}", path_, error.message()));
}

std::vector<unsigned> Folder::numbers() const {
  std::vector<unsigned> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path_, error))
    if (const unsigned number = number_of(entry.path().filename(), kManifest, false); number > 0)
      found.push_back(number);
  std::sort(found.begin(), found.end());
  return found;
}

Manifest Folder::read_manifest(unsigned number, unsigned rank) const {
  const std::string name = manifest_of(number, rank);
  std::ifstream file(name, std::ios::binary);
  if (!file) throw UsageError(fmt::format("cannot read '{}': {}", name, std::strerror(errno)));
  return Manifest::from_json({std::istreambuf_iterator<char>(file), {}}, name);
}

std::vector<Manifest> Folder::read_parts(const Manifest& first) const {
  std::vector<Manifest> parts{first};
  for (unsigned rank = 1; rank < first.ranks; ++rank) {
    const Manifest& part = parts.emplace_back(read_manifest(first.number, rank));
    if (part.cut != first.cut || part.rank != rank || part.ranks != first.ranks)
      throw UsageError(fmt::format("'{}' is of another snapshot than '{}'",
                                   manifest_of(first.number, rank), manifest_of(first.number)));
  }
  return parts;
}

void Folder::keep_only(const std::vector<unsigned>& numbers) const {
  keep_only(numbers, std::numeric_limits<unsigned>::max());
}

void Folder::keep_only(const std::vector<unsigned>& numbers, unsigned last) const {
  std::error_code error, ignored;
  std::vector<fs::path> contents;  // removed last, so that no manifest ever lacks its contents
  for (const auto& entry : fs::directory_iterator(path_, error)) {
    std::string name = entry.path().filename();
    const bool is_part = name.ends_with(kPart);
    if (is_part) name.resize(name.size() - kPart.size());
    const unsigned number =
        std::max(number_of(name, kManifest, true), number_of(name, kContents, true));
    const bool is_kept =
        !is_part && std::find(numbers.begin(), numbers.end(), number) != numbers.end();
    const bool is_ours = number > 0 || is_part;
    if (!is_ours || is_kept || number > last) continue;
    if (name.ends_with(kContents)) {
      contents.push_back(entry.path());
    } else {
      fs::remove(entry.path(), ignored);
    }
  }
  for (const fs::path& one : contents) fs::remove(one, ignored);
}

void Folder::clear() const {
  keep_only({});
  std::error_code ignored;
  fs::remove(rows(), ignored);
  fs::remove(path_, ignored);  // only succeeds where it is empty
}

void Folder::synchronise() const {
  const int folder = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  fsync(folder);  // a file system may not support this
  close(folder);
}

Contents::Contents(const Folder& folder, const Manifest& manifest)
    : path_(folder.contents_of(manifest.number, manifest.rank)), bytes_(manifest.contents_bytes()) {
  const int file = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw UsageError(fmt::format("cannot read '{}': {}", path_, std::strerror(errno)));
  struct stat facts {};
  const bool fits = fstat(file, &facts) == 0 && static_cast<std::size_t>(facts.st_size) == bytes_;
  void* const memory =
      fits ? mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0) : MAP_FAILED;
  const int reason = errno;
  close(file);
  if (!fits)
    throw UsageError(fmt::format("'{}' is damaged: it has {} bytes and ought to have {}", path_,
                                 facts.st_size, bytes_));
  if (memory == MAP_FAILED)
    throw UsageError(fmt::format("cannot read '{}': {}", path_, std::strerror(reason)));
  memory_ = static_cast<const std::byte*>(memory);
  std::size_t at = 0;
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    sections_[i] = {memory_ + at, manifest.section_bytes[i]};
    at += manifest.section_bytes[i];
  }
  try {
    verify(manifest);
  } catch (...) {
    munmap(const_cast<std::byte*>(memory_), bytes_);
    throw;
  }
}

Contents::~Contents() {
  munmap(const_cast<std::byte*>(memory_), bytes_);
}

void Contents::verify(const Manifest& manifest) const {
  for (std::size_t i = 0; i < manifest.sums.size(); ++i) {
    const std::size_t at = i * kSumBytes;
    if (checksum(memory_ + at, std::min(kSumBytes, bytes_ - at)) == manifest.sums[i]) continue;
    std::string names;
    std::size_t begin = 0;
    for (std::size_t s = 0; s < sections_.size(); ++s) {
      const std::size_t end = begin + sections_[s].size();
      if (begin < at + kSumBytes && end > at)
        names += (names.empty() ? "" : ", ") + std::string(kSections[s]);
      begin = end;
    }
    throw UsageError(
        fmt::format("'{}' is damaged: the MiB at byte {} (section {}) does not have its checksum",
                    path_, at, names));
  }
}

}  // namespace orrery::snapshot
