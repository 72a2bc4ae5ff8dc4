// SPDX-License-Identifier: Apache-2.0
//
// Lists the files that hosts executed, with their SHA-256, to compare runs on two machines: results
// depend on the programs and libraries of the machine. A host's kernel records the files that it
// executes (kernel/lab_executed.c); this class finds and reads the files, once for all hosts.
//
// The list comes from a guest, which is not trusted. A path from the list is looked up only below
// folders that the guest could see, and no symbolic link is followed, since an honest kernel needs
// none. Files that a guest could have changed are not read.
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
  /// The origin of a file of a host.
  enum class Origin : std::uint8_t {
    machine,     ///< of this machine's file system
    root,        ///< of the folder that the host's `root` names
    laboratory,  ///< a part of the laboratory
    put_in,      ///< of the topology's `files`, in its first state; the host may have changed it
    host,        ///< made by the host
    unknown      ///< does not exist, or is outside of the folders of hosts
  };

  /// Adds the list of a host that has ended.
  void add(const Host& host, const GuestSettings& settings);

  std::size_t count() const { return files_.size(); }
  /// Number of hosts whose list is incomplete or missing.
  unsigned cut() const { return cut_; }
  /// A line for each file: path, origin, sha256, bytes, hosts (number of hosts that executed it).
  std::string csv() const;

 private:
  struct Content {
    std::string sha256;
    std::uint64_t bytes = 0;
  };
  struct Entry {
    std::string path;  ///< as programs of the host see it
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

  std::map<Key, unsigned> files_;  ///< number of hosts that executed the file
  std::map<std::pair<std::filesystem::path, std::filesystem::path>, std::optional<Content>> read_;
  unsigned cut_ = 0;
};

}  // namespace orrery::lab
