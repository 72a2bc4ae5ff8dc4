// SPDX-License-Identifier: Apache-2.0
//
// A world at a cut (run/world.h) as bytes, and back. The bytes mean something only to another
// process of the same build on the same ground: they hold LP memory as it is, with all its
// addresses, so that ordinary C++ objects need nothing to travel; core/modules.h and
// memory/region.h say why addresses mean the same there.
//
// Six sections, of records at multiples of 16 bytes:
//   model   the model's heap: runs (memory/lp_heap.h), then live chunks
//   ground  extents and areas of all arenas: where in the region heaps lie
//   lps     of each LP its object's address and kernel state, the runs of its heap, live chunks
//   index   which LPs follow each other in `lps`, and where every so many of them begin: several
//           threads read and write them
//   events  what is pending, as it lies in EventList
//   tally   what metrics have counted (core/tally.h): how many words, the words
//
// A rank writes the LPs that it has and what it has counted; a world may be filled from images of
// several ranks, and takes what it has of each. What all have counted is rank 0's from then on.
//
// Taking it is copying, on all cores, into memory that is kept for the next time and made ready for
// the first; what is slow, checksums and the disk, comes afterwards and on another thread
// (writer.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "memory/model_heap.h"
#include "run/world.h"
#include "snapshot/byte_log.h"

namespace orrery::snapshot {

inline constexpr std::array<std::string_view, 6> kSections{"model", "ground", "lps",
                                                           "index", "events", "tally"};
enum Section : unsigned { kModel, kGround, kLps, kIndex, kEvents, kTally };

using Bytes = std::span<const std::byte>;
using SectionBytes = std::array<Bytes, kSections.size()>;

/// LPs that follow each other in `lps`, and where they begin.
struct alignas(16) Stretch {
  std::uint64_t first, count, offset, unused;
};

/// Memory that an image of a world will take, by estimate.
struct ImageNeeds {
  unsigned threads = 1;
  std::size_t lp_bytes = 0, event_bytes = 0;  ///< for each thread

  static ImageNeeds of(const World& world);
};

class Image {
 public:
  /// Takes memory in advance. Throws std::bad_alloc.
  void reserve(const ImageNeeds& needs);
  /// Copies a world. By the thread that has it; throws std::bad_alloc. `model`: null if another
  /// rank's image has it, since all have the same.
  void take(World& world, const memory::ModelHeap* model);

  std::size_t size(Section section) const;
  /// visit(Bytes) for the pieces of a section, in order.
  template <class Visit>
  void for_each_piece(Section section, Visit&& visit) const {
    for (const ByteLog& log : logs_[section]) log.for_each_piece(visit);
  }
  /// Of all LPs as far as they have come: the sum that a fingerprint is made of, without what
  /// finish() adds.
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
  void take_tally(const World& world);

  /// Of LPs and events one for each thread, of the others one.
  std::array<std::vector<ByteLog>, kSections.size()> logs_;
  std::uint64_t fingerprint_ = 0;
};

/// How the model's heap of this process compares with one that was written down.
enum class ModelMatch : std::uint8_t { equal, contents_differ, laid_out_otherwise };
ModelMatch compare_model(Bytes section, const memory::ModelHeap& model);
/// Gives the model's heap the contents that were written down; its layout is equal.
void restore_model(Bytes section, const memory::ModelHeap& model);

/// Fills a world that has neither heaps nor LPs yet, with what it has of all LPs. Events at or
/// after `until` are left out. `images`: of each rank that there was, its own. Throws UsageError
/// for bytes that are no image of such a world, or whose memory cannot be had here.
void restore(const std::vector<SectionBytes>& images, World& world, Time until);

}  // namespace orrery::snapshot
