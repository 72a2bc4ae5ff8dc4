// SPDX-License-Identifier: Apache-2.0
//
// The folder of a run's snapshots, `snapshots` in its output folder:
//   000007.world   the contents (image.h)
//   000007.json    the manifest; a snapshot without one does not exist
//   000007.rank1.world, 000007.rank1.json   the same of another rank than the first
//   rows.log       rows that are committed (observe/row_log.h), of which a manifest says how many
//                  bytes belong to it
// The two last snapshots are kept, so that damage to one costs the time between them and no more.
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

  /// Makes it, where it is not there. Throws UsageError.
  void make() const;
  /// Numbers of the snapshots that have a manifest, whole or not, in order.
  std::vector<unsigned> numbers() const;
  /// Throws UsageError if it is damaged.
  Manifest read_manifest(unsigned number, unsigned rank = 0) const;
  /// Of all ranks, `first` among them. Throws UsageError if one is missing, damaged or another's.
  std::vector<Manifest> read_parts(const Manifest& first) const;
  /// Removes what is no part of a snapshot that is to be kept: all but these.
  void keep_only(const std::vector<unsigned>& numbers) const;
  /// The same while a run takes snapshots: what belongs to later ones than that number may be under
  /// way, by other ranks, and stays.
  void keep_only(const std::vector<unsigned>& numbers, unsigned last) const;
  /// Removes everything that is a run's, and the folder itself if nothing else is in it.
  void clear() const;
  /// What was renamed in it survives a crash of the machine from now on.
  void synchronise() const;

 private:
  std::string path_;
};

/// The contents of a snapshot, mapped, with their checksums verified. Throws UsageError with the
/// section and place of the damage.
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
