// SPDX-License-Identifier: Apache-2.0
//
// A digest of a file, or of a folder with all names, modes, links and contents in it, to compare
// what hosts see on several machines and in runs that repeat others. Dates and owners do not count,
// since hosts do not see them. A file that this process cannot read counts by its name and its mode,
// since hosts cannot read it, either.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace orrery::lab {

/// Follows `path` if it is a link, and no link in it. Throws UsageError if a read fails.
std::string tree_digest(const std::filesystem::path& path);

/// Names with digests. Hosts share files, and each file or folder is read once.
class TreeDigests {
 public:
  void add(const std::string& what, const std::filesystem::path& path) {
    const std::filesystem::path at = std::filesystem::absolute(path);
    if (seen_.insert(at).second)
      all_.emplace_back(what + " '" + at.string() + "'", tree_digest(at));
  }
  std::vector<std::pair<std::string, std::string>> take() { return std::move(all_); }

 private:
  std::set<std::filesystem::path> seen_;
  std::vector<std::pair<std::string, std::string>> all_;
};

}  // namespace orrery::lab
