// SPDX-License-Identifier: Apache-2.0
//
// Lists the files that hosts executed, with their SHA-256, to compare runs on two machines: results
// depend on the programs and libraries of the machine. Each kind of machine knows what its hosts
// executed (Machine::add_executed); this class reads the files, once for all hosts.
//
// A guest may choose the paths. A path is looked up only below a folder that the guest could see,
// and no symbolic link is followed, since an honest kernel needs none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

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

  struct Content {
    std::string sha256;
    std::uint64_t bytes = 0;
  };
  struct Entry {
    std::string path;  ///< as programs of the host see it
    Origin origin = Origin::unknown;
    std::optional<Content> content;
  };

  /// The file `below` of the folder `base`; unknown if there is no such file.
  Entry found(std::string_view path, Origin origin, const std::filesystem::path& base,
              const std::filesystem::path& below);
  /// Adds the files of one host, in which a file may occur several times. `is_whole`: the list is
  /// complete.
  void add(std::span<const Entry> of_host, bool is_whole);

  std::size_t count() const { return files_.size(); }
  /// Number of hosts whose list is incomplete or missing.
  unsigned cut() const { return cut_; }
  /// A line for each file: path, origin, sha256, bytes, hosts (number of hosts that executed it).
  std::string csv() const;

 private:
  using Key = std::tuple<std::string, Origin, std::string, std::uint64_t>;

  const std::optional<Content>& content(const std::filesystem::path& base,
                                        const std::filesystem::path& below);

  std::map<Key, unsigned> files_;  ///< number of hosts that executed the file
  std::map<std::pair<std::filesystem::path, std::filesystem::path>, std::optional<Content>> read_;
  unsigned cut_ = 0;
};

}  // namespace orrery::lab
