// SPDX-License-Identifier: Apache-2.0
//
// The manifest of a snapshot: a description of its contents (image.h), of the processes in which
// they are valid, and a checksum for every MiB. It is JSON, for people and for other tools, and has
// its own checksum. A snapshot exists if its manifest exists, which is renamed into place last. In
// a run over ranks each rank writes its own contents and a manifest for them. Rank 0's manifest
// describes all contents, and is renamed when those of the other ranks exist.
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

/// XXH3, 64 bits (Collet): detects damage, not forgery.
std::uint64_t checksum(const void* bytes, std::size_t count);

/// The ground: the properties of a process on which the addresses in a snapshot depend.
struct Ground {
  std::string program;       ///< its build id
  std::string model_object;  ///< build id of the model's shared object; empty: it is in the program
  std::uint64_t region_base = 0, region_bytes = 0, page_bytes = 0;

  /// The ground of this process; `model_path`: of the model's shared object, or empty.
  static Ground of_this_process(const std::string& model_path);
};

/// A module that is not at its linked address, and into which LP memory seems to point.
struct Reference {
  std::string path, build_id;
  std::uint64_t base = 0;
  std::uint64_t words = 0;  ///< number of words that look like addresses in the module
};

struct Manifest {
  unsigned number = 0;
  unsigned rank = 0, ranks = 1;  ///< whose contents it describes; of how many
  std::string created, version;  ///< time in UTC; version of Orrery
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
  std::map<std::string, std::string>
      observed;  ///< by option name: settings of run/results/metric_options.h
  std::uint64_t lps = 0;

  Key cut;
  std::uint64_t committed = 0, executed = 0;
  std::uint64_t pending = 0;  ///< of the rank; in rank 0's complete manifest: of all
  std::int64_t trail_ticks = 0;
  std::vector<LpId> trail_lps;
  std::uint64_t fingerprint = 0;  ///< Image::fingerprint, as with `pending`
  double wall_seconds = 0;        ///< of the run so far, resumed runs included
  std::int64_t every_ticks = 0;   ///< interval of the snapshots, for a run that resumes
  double wall_every_seconds = 0;  ///< the same by the clock
  double wall_share = 0.03;       ///< largest share of the time for these, above 0
  std::vector<std::int64_t> at_ticks;
  std::uint64_t rows_bytes = 0;  ///< length of the log of rows; later bytes are of later snapshots

  std::array<std::uint64_t, kSections.size()> section_bytes{};
  std::vector<std::uint64_t> sums;  ///< of each MiB of the contents

  std::uint64_t contents_bytes() const;
  /// Adds the values of another rank's manifest.
  void add_part(const Manifest& part);
  /// "12.5 s (tick 12500000000)"
  std::string time() const;

  std::string to_json() const;
  /// Throws UsageError with what is wrong; `name`: of the file.
  static Manifest from_json(const std::string& text, const std::string& name);
};

}  // namespace orrery::snapshot
