// SPDX-License-Identifier: Apache-2.0
//
// What is written beside a snapshot's contents (image.h): what they are, on which ground they mean
// something, and a checksum for every MiB of them. It is JSON, for people and for other tools, and
// has a checksum of its own. A snapshot exists when its manifest does, which is renamed into place
// last. Of a run over ranks each rank writes contents of its own and a manifest that speaks of
// these; rank 0's speaks of all of them, and is renamed when the others' are there.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/key.h"
#include "core/modules.h"
#include "snapshot/image.h"

namespace orrery::snapshot {

inline constexpr int kFormat = 3;
inline constexpr std::size_t kSumBytes = std::size_t{1} << 20;

/// XXH3, 64 bits (Collet): a checksum against damage, not against forgers.
std::uint64_t checksum(const void* bytes, std::size_t count);

/// The ground that addresses of a snapshot mean something on.
struct Ground {
  std::string program;       ///< its build id
  std::string model_object;  ///< that of a model's shared object; empty: the model is the program's
  std::uint64_t region_base = 0, region_bytes = 0, page_bytes = 0;

  /// Of this process; `model_path`: of a shared object, or empty.
  static Ground of_this_process(const std::string& model_path);
};

/// A module that does not lie where it was linked to, and that LP memory seems to point into.
struct Reference {
  std::string path, build_id;
  std::uint64_t base = 0;
  std::uint64_t words = 0;  ///< that look like addresses in it
};

struct Manifest {
  unsigned number = 0;
  unsigned rank = 0, ranks = 1;  ///< whose contents it speaks of; of how many
  std::string created, version;  ///< UTC; of Orrery
  Ground ground;
  std::vector<Reference> references;

  std::string model, model_path;
  std::map<std::string, std::string> parameters;  ///< as given when the model was prepared
  std::map<std::string, std::string> changes;     ///< by forks since then
  std::uint64_t seed = 1;                         ///< by the latest fork
  std::uint64_t model_seed = 1;                   ///< when the model was prepared
  std::int64_t until_ticks = 0;
  double tick_seconds = 1e-9;
  std::uint32_t livelock_microsteps = 0;
  std::map<std::string, std::string> observed;  ///< by options' names: what run/observation.h has
  std::uint64_t lps = 0;

  Key cut;
  std::uint64_t committed = 0, executed = 0;
  std::uint64_t pending = 0;  ///< of the rank; rank 0's, when it is whole: of all
  std::int64_t trail_ticks = 0;
  std::vector<LpId> trail_lps;
  std::uint64_t fingerprint = 0;  ///< Image::fingerprint, as with `pending`
  double wall_seconds = 0;        ///< of the run so far, with what was resumed
  std::int64_t every_ticks = 0;   ///< when the run takes snapshots, for whoever resumes it
  double wall_every_seconds = 0;  ///< the same by the clock
  double wall_share = 0.03;       ///< of the time that these may take, above 0
  std::vector<std::int64_t> at_ticks;
  std::uint64_t rows_bytes = 0;  ///< of the log of rows; what follows in it is of later

  std::array<std::uint64_t, kSections.size()> section_bytes{};
  std::vector<std::uint64_t> sums;  ///< of each MiB of the contents

  std::uint64_t contents_bytes() const;
  /// Takes in what another rank's says of its part.
  void add_part(const Manifest& part);
  /// "12.5 s (tick 12500000000)"
  std::string time() const;

  std::string to_json() const;
  /// Throws UsageError with what is wrong; `name`: of the file.
  static Manifest from_json(const std::string& text, const std::string& name);
};

}  // namespace orrery::snapshot
