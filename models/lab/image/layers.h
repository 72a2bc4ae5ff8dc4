// SPDX-License-Identifier: Apache-2.0
//
// The files of an image: its layers one over another, where a file `.wh.NAME` of a layer removes NAME
// of the layers below, and `.wh..wh..opq` all of a folder (OCI Image Format Specification 1.1, Image
// Layer Filesystem Changeset). First all headers are read, then the content of the files that are
// left is written, in the order of the layers, as one tar.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "archive.h"

namespace orrery::lab::image {

class Layers {
 public:
  /// Reads the headers. Devices are left out, since hosts have their own. Throws ImageError.
  Layers(const OuterArchive& archive, const std::vector<std::string>& names);

  /// Whether there is a file at the path, symbolic links followed.
  bool has_file(const std::string& path) const;
  /// Throws ImageError.
  void write_tar(int descriptor) const;

 private:
  struct File {
    unsigned kind = 0;  ///< AE_IFREG and the like
    unsigned mode = 0;
    std::int64_t user = 0, group = 0, time_s = 0;
    std::uint64_t bytes = 0;
    std::string target;                 ///< of a symbolic link
    std::size_t layer = 0, number = 0;  ///< where its content is
  };
  using Tree = std::map<std::string, File>;

  void read_headers(Entries& entries, std::size_t layer);
  void add(const std::string& path, File file);
  void add_parents(const std::string& path);
  void remove_below(const std::string& path);
  void link(const std::string& path, const std::string& target);
  static void write_header(archive* to, const std::string& path, const File& file,
                           const std::string* first);
  void write_contents(archive* to, Entries& entries, std::size_t layer) const;

  const OuterArchive& archive_;
  const std::vector<std::string>& names_;
  Tree tree_;
  std::uint64_t bytes_ = 0, files_ = 0;
};

}  // namespace orrery::lab::image
