// SPDX-License-Identifier: Apache-2.0
//
// Starts a run from a snapshot: chooses an undamaged one, checks that its addresses are valid in
// this process, and fills a world from it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/model.h"
#include "run/world/halts.h"
#include "snapshot/folder.h"
#include "snapshot/manifest.h"

namespace orrery::snapshot {

class SnapshotRestore final : public WorldOrigin {
 public:
  /// The last undamaged snapshot in a run's folder, or the snapshot with number `number`, if that
  /// is not 0. Throws UsageError if there is none.
  SnapshotRestore(const std::string& run, unsigned number);

  const Manifest& manifest() const { return parts_.front(); }
  /// Messages about damaged snapshots that were skipped.
  const std::vector<std::string>& notes() const { return notes_; }

  /// Throws UsageError if the snapshot's addresses are not valid in this process. The models'
  /// shared objects must be loaded.
  void check_ground() const;
  /// Restores the contents of a prepared model. Throws UsageError if its layout is different.
  void restore_model() const;

  /// Events at or after `until` will not run; at most the snapshot's end.
  void set_until(Time until) { until_ = until; }
  void fill(World& world) override;

 private:
  Folder folder_;
  std::vector<Manifest> parts_;  ///< of all ranks of that run; the first one's is the run's
  std::vector<std::unique_ptr<Contents>> contents_;
  std::vector<std::string> notes_;
  Time until_ = Time::max();
};

}  // namespace orrery::snapshot
