// SPDX-License-Identifier: Apache-2.0
//
// Converts a world at a cut (run/world/world.h) to bytes, and back. Only a process of the same
// build with the same address layout can use the bytes: they hold LP memory unchanged, with all its
// addresses, so that ordinary C++ objects need no code for serialisation. core/modules.h and
// memory/region.h say why addresses are the same there.
//
// Six sections, of records at multiples of 16 bytes:
//   model   the model's heap: runs (memory/lp_heap.h), then live chunks
//   ground  extents and areas of all arenas: where in the region heaps lie
//   lps     for each LP: its object's address, its kernel state, the runs of its heap, live chunks
//   index   stretches of consecutive LPs and their places in `lps`, for reading and writing LPs
//           on several threads
//   events  the pending events, as they lie in EventList
//   tally   the counts of metrics (core/mergeable_statistics.h): number of words, then the words
//
// A rank writes its own LPs and its own counts. A world may be filled from the images of several
// ranks, and takes from each the LPs that it has. Rank 0 then has the counts of all.
//
// Taking an image is a copy, on all cores, into memory that is kept for the next time and prepared
// for the first time. The slow part, checksums and the disk, follows on another thread (writer.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "memory/model_heap.h"
#include "run/world/world.h"
#include "snapshot/byte_log.h"

namespace orrery::snapshot {

inline constexpr std::array<std::string_view, 6> kSections{"model", "ground", "lps",
                                                           "index", "events", "tally"};
enum Section : unsigned { kModel, kGround, kLps, kIndex, kEvents, kMergeableStatistics };

using Bytes = std::span<const std::byte>;
using SectionBytes = std::array<Bytes, kSections.size()>;

/// LPs [first, first + count) in `lps`, and the offset where they begin.
struct alignas(16) Stretch {
  std::uint64_t first, count, offset, unused;
};

/// Estimated memory of an image of a world.
struct ImageNeeds {
  unsigned threads = 1;
  std::size_t lp_bytes = 0, event_bytes = 0;  ///< for each thread

  static ImageNeeds of(const World& world);
};

class Image {
 public:
  /// Prepares memory. Throws std::bad_alloc.
  void reserve(const ImageNeeds& needs);
  /// Copies a world. Called by the thread that owns the world; throws std::bad_alloc. `model`: null
  /// if another rank's image has the model, since all ranks have the same.
  void take(World& world, const memory::ModelHeap* model);

  std::size_t size(Section section) const;
  /// visit(Bytes) for the pieces of a section, in order.
  template <class Visit>
  void for_each_piece(Section section, Visit&& visit) const {
    for (const ByteLog& log : logs_[section]) log.for_each_piece(visit);
  }
  /// Sum of the LPs' fingerprint contributions so far, without the contributions of finish().
  std::uint64_t fingerprint() const { return fingerprint_; }

 private:
  struct Part {
    LpId begin, end;
    std::uint64_t fingerprint = 0;
    std::vector<Stretch> stretches;  ///< offsets are from the part's first byte
  };
  void take_model(const memory::ModelHeap& model);
  void take_ground(const World& world);
  void take_lps_and_events(World& world);
  static void take_part(World& world, Part& part, ByteLog& log);
  static void take_events(const World& world, unsigned thread, unsigned threads, ByteLog& log);
  void take_mergeable_statistics(const World& world);

  /// For LPs and events one log for each thread, for the other sections one.
  std::array<std::vector<ByteLog>, kSections.size()> logs_;
  std::uint64_t fingerprint_ = 0;
};

/// How this process' model heap compares with a written one.
enum class ModelMatch : std::uint8_t { equal, contents_differ, laid_out_otherwise };
ModelMatch compare_model(Bytes section, const memory::ModelHeap& model);
/// Restores the written contents of the model's heap, whose layout must be equal.
void restore_model(Bytes section, const memory::ModelHeap& model);

/// Fills a world that has neither heaps nor LPs yet, with those LPs that belong to it. Omits events
/// at or after `until`. `images`: of each rank that wrote the snapshot. Throws UsageError if the
/// bytes are no image of such a world, or if this process cannot get their memory.
void restore(const std::vector<SectionBytes>& images, World& world, Time until);

}  // namespace orrery::snapshot
