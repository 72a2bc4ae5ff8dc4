// SPDX-License-Identifier: Apache-2.0
//
// Writes an archive in the format that Linux unpacks at its start (cpio "newc": kernel documentation,
// early-userspace/buffer-format). Nothing of it shows the machine: files belong to root, have the
// date of a host's start, and are numbered by their order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace orrery::lab {

class Cpio {
 public:
  void add_folder(std::string_view path) { add(path, 0040755, ""); }
  void add_file(std::string_view path, std::string_view bytes, bool executable = false) {
    add(path, executable ? 0100755 : 0100644, bytes);
  }
  void add_console();
  /// A file, or a folder with all files in it, in the order of their names. Other kinds of files,
  /// and links, are left out. Throws std::filesystem::filesystem_error and UsageError.
  void add_copy(const std::string& path, const std::filesystem::path& from);
  /// The archive. The last call.
  std::string finish();

 private:
  void add(std::string_view path, std::uint32_t mode, std::string_view bytes,
           std::uint32_t major = 0, std::uint32_t minor = 0);
  void pad();

  std::string archive_;
  std::uint32_t number_ = 0;
};

}  // namespace orrery::lab
