// SPDX-License-Identifier: Apache-2.0
//
// Which files hosts executed, with their SHA-256, so that runs on two machines can be compared:
// what a run shows beyond times depends on the programs and libraries that the machine has. A
// host's kernel writes down what it executes (kernel/lab_executed.c); here the files are found
// again and read, once for all hosts.
//
// The list comes from a guest, which is not trusted: a path of it is looked up only below what the
// guest could see, and no symbolic link is followed, since a kernel that tells the truth needs
// none. What a guest could have changed is not read at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "guest_process.h"
#include "topology.h"

namespace orrery::lab {

/// SHA-256 in hexadecimal digits.
std::string sha256(std::string_view bytes);

class ExecutedFiles {
 public:
  /// Where a file of a host is from.
  enum class Origin : std::uint8_t {
    machine,     ///< of this machine
    root,        ///< of the host's `root`
    laboratory,  ///< a part of the laboratory
    put_in,      ///< of the topology's `files`, as it was put in: the host may have changed it
    host,        ///< made by the host
    unknown      ///< it is not there, or not where files of hosts are
  };

  /// Takes the list of a host that has ended.
  void add(const Host& host, const GuestSettings& settings);

  std::size_t count() const { return files_.size(); }
  /// Hosts whose lists have an end too early, or are not there.
  unsigned cut() const { return cut_; }
  /// A line for each file: path, origin, sha256, bytes, hosts (how many executed it).
  std::string csv() const;

 private:
  struct Content {
    std::string sha256;
    std::uint64_t bytes = 0;
  };
  struct Entry {
    std::string path;  ///< as programs see it
    Origin origin = Origin::unknown;
    std::optional<Content> content;
  };
  using Key = std::tuple<std::string, Origin, std::string, std::uint64_t>;

  Entry find(const Host& host, const GuestSettings& settings, std::string_view told);
  Entry find_of_machine(const GuestSettings& settings, std::string_view path);
  Entry find_own(const Host& host, const GuestSettings& settings, std::string_view path);
  Entry found(std::string_view path, Origin origin, const std::filesystem::path& base,
              const std::filesystem::path& below);
  const std::optional<Content>& content(const std::filesystem::path& base,
                                        const std::filesystem::path& below);

  std::map<Key, unsigned> files_;  ///< hosts that executed it
  std::map<std::pair<std::filesystem::path, std::filesystem::path>, std::optional<Content>> read_;
  unsigned cut_ = 0;
};

}  // namespace orrery::lab
