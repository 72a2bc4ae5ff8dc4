// SPDX-License-Identifier: Apache-2.0
//
// A run that begins at a snapshot: choosing one that is whole, seeing to it that this process is
// ground on which its addresses mean what they meant, and filling a world from it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/model.h"
#include "run/halts.h"
#include "snapshot/folder.h"
#include "snapshot/manifest.h"

namespace orrery::snapshot {

class Arrival final : public WorldOrigin {
 public:
  /// The last snapshot in a run's folder that is not damaged, or the one of that number. Throws
  /// UsageError if there is none.
  Arrival(const std::string& run, unsigned number);

  const Manifest& manifest() const { return parts_.front(); }
  /// What is to be told of snapshots that were passed over.
  const std::vector<std::string>& notes() const { return notes_; }

  /// Throws UsageError if addresses do not mean here what they meant there. Models' objects are
  /// loaded.
  void check_ground() const;
  /// Gives a prepared model what the snapshot's had. Throws UsageError if it lies otherwise.
  void restore_model() const;

  /// Handlers at or after it will not run; at most the snapshot's.
  void set_until(Time until) { until_ = until; }
  void fill(World& world) override;

 private:
  Folder folder_;
  std::vector<Manifest> parts_;  ///< of all ranks that there were; the first one's is the run's
  std::vector<std::unique_ptr<Contents>> contents_;
  std::vector<std::string> notes_;
  Time until_ = Time::max();
};

}  // namespace orrery::snapshot
