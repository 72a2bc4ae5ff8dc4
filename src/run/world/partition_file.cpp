// SPDX-License-Identifier: Apache-2.0
#include "run/world/partition_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include "core/file_output.h"
#include "core/format_into.h"
#include "orrery/error.h"

namespace orrery {
namespace {

const char* word(PartKind kind) {
  return kind == PartKind::rank ? "rank" : "worker";
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw UsageError(fmt::format("partition '{}': {}", path, why));
}

bool is_comment(const std::string& line) {
  const std::size_t first = line.find_first_not_of(" \t\r");
  return first == std::string::npos || line[first] == '#' || line[first] == '%';
}

std::uint16_t read_part(const std::string& path, std::uint64_t line_number, const std::string& line,
                        unsigned parts, PartKind kind) {
  const std::size_t first = line.find_first_not_of(" \t");
  const std::size_t last = line.find_last_not_of(" \t\r");
  const char* const end = line.data() + last + 1;
  unsigned part = 0;
  const auto read = std::from_chars(line.data() + first, end, part);
  if (read.ec != std::errc() || read.ptr != end)
    refuse(path, fmt::format("line {}: the number of a {} is expected, not '{}'", line_number,
                             word(kind), line.substr(first, last + 1 - first)));
  if (part >= parts)
    refuse(path, fmt::format("line {}: there is no {} {}, the run has {}", line_number, word(kind),
                             part, parts == 1 ? "one, 0" : fmt::format("0 to {}", parts - 1)));
  return static_cast<std::uint16_t>(part);
}

/// Most likely the file was made for fewer parts.
void note_empty_parts(const std::string& path, const std::vector<std::uint16_t>& part_of,
                      unsigned parts, PartKind kind, std::vector<std::string>& notes) {
  std::vector<char> has(parts);
  for (const std::uint16_t part : part_of) has[part] = 1;
  const auto empty = std::count(has.begin(), has.end(), 0);
  if (empty > 0)
    notes.push_back(fmt::format("partition '{}' leaves {} of {} {}s without LPs", path, empty,
                                parts, word(kind)));
}

void check_clusters(const std::string& path, const std::vector<std::uint16_t>& part_of,
                    PartKind kind, const Clusters& clusters) {
  for (LpId id = 0; clusters.any() && id < part_of.size(); ++id) {
    const LpId lowest = clusters.of(id);
    if (part_of[id] != part_of[lowest])
      refuse(path, fmt::format("LPs {} and {} may reach each other without delay, so this engine "
                               "needs them on one {}, not on {} and {}",
                               lowest, id, word(kind), part_of[lowest], part_of[id]));
  }
}

}  // namespace

std::vector<std::uint16_t> read_partition(const std::string& path, std::uint64_t lps,
                                          unsigned parts, PartKind kind, const Clusters& clusters,
                                          std::vector<std::string>& notes) {
  errno = 0;
  std::ifstream file(path);
  std::vector<std::uint16_t> part_of;
  std::string line;
  for (std::uint64_t number = 1; std::getline(file, line); ++number) {
    if (is_comment(line)) continue;
    if (part_of.size() == lps)
      refuse(path, fmt::format("line {}: the model has {} LPs, and this line is one too many",
                               number, lps));
    part_of.push_back(read_part(path, number, line, parts, kind));
  }
  // A folder can be opened but not read.
  if (!file.eof()) refuse(path, fmt::format("cannot read it: {}", std::strerror(errno)));
  if (part_of.size() < lps)
    refuse(path, fmt::format("it has {} numbers, and the model {} LPs", part_of.size(), lps));
  note_empty_parts(path, part_of, parts, kind, notes);
  check_clusters(path, part_of, kind, clusters);
  return part_of;
}

void write_partition(const std::string& path, const std::vector<std::uint16_t>& part_of,
                     unsigned parts, PartKind kind) {
  std::string text =
      fmt::format("# {} of each of {} LPs, 0 to {}\n", word(kind), part_of.size(), parts - 1);
  for (const std::uint16_t part : part_of) append_format(text, "{}\n", part);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) refuse_to_write(path);
  const bool is_written = write_fully(file, text.data(), text.size());
  const int error = errno;
  close(file);
  errno = error;
  if (!is_written) refuse_to_write(path);
}

}  // namespace orrery
