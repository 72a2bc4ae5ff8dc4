// SPDX-License-Identifier: Apache-2.0
//
// The folder of a run's snapshots, `snapshots` in its output folder:
//   000007.world   the contents (image.h)
//   000007.json    the manifest; a snapshot without one does not exist
//   000007.rank1.world, 000007.rank1.json   the same for rank 1, and so on
//   rows.log       committed rows (output/row_log.h); a manifest says how many bytes of the file
//                  belong to it
// The last two snapshots are kept, so that damage to one costs only the time between them.
#pragma once

#include <string>
#include <vector>

#include "snapshot/manifest.h"

namespace orrery::snapshot {

class Folder {
 public:
  /// `run`: the output folder.
  explicit Folder(const std::string& run);

  const std::string& path() const { return path_; }
  std::string contents_of(unsigned number, unsigned rank = 0) const;
  std::string manifest_of(unsigned number, unsigned rank = 0) const;
  std::string rows() const;

  /// Makes the folder if it does not exist. Throws UsageError.
  void make() const;
  /// Numbers of the snapshots that have a manifest, damaged or not, in ascending order.
  std::vector<unsigned> numbers() const;
  /// Throws UsageError if the manifest is missing or damaged.
  Manifest read_manifest(unsigned number, unsigned rank = 0) const;
  /// The manifests of all ranks, `first` included. Throws UsageError if one is missing, damaged or
  /// of another snapshot.
  std::vector<Manifest> read_parts(const Manifest& first) const;
  /// Removes all files of snapshots, except those of snapshots `numbers`.
  void keep_only(const std::vector<unsigned>& numbers) const;
  /// The same while a run takes snapshots: files of snapshots above `last` stay, since other ranks
  /// may be writing them.
  void keep_only(const std::vector<unsigned>& numbers, unsigned last) const;
  /// Removes all snapshots and the log of rows, and the folder itself if it is then empty.
  void clear() const;
  /// Makes earlier renames in the folder survive a crash of the machine.
  void synchronise() const;

 private:
  std::string path_;
};

/// Maps the contents of a snapshot and verifies their checksums. Throws UsageError with the section
/// and place of any damage.
class Contents {
 public:
  Contents(const Folder& folder, const Manifest& manifest);
  ~Contents();
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  const SectionBytes& sections() const { return sections_; }

 private:
  void verify(const Manifest& manifest) const;

  std::string path_;
  const std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
  SectionBytes sections_;
};

}  // namespace orrery::snapshot
