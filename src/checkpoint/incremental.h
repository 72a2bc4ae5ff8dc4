// SPDX-License-Identifier: Apache-2.0
//
// Incremental checkpoints: time and memory for what changed, not for what there is.
//
// An LP has one shadow: a copy of all its memory as it was at its newest delta. A new checkpoint
// compares the pages that were written since (page_tracker.h) with it, line by line of 64 bytes;
// a line that differs is moved from the shadow to the *way back* of the delta before, and the
// shadow follows the LP. So a delta holds the old contents of what changed after it, nothing has to
// be kept for commitment's sake (old deltas are just dropped), and no chain ends in a full copy.
// A rollback takes the ways back, newest first, then makes the LP equal to the shadow.
//
// Shadow and ways back are raw bytes of whole runs, free chunks included; which chunks are live is
// in the layout that each delta has. A chunk that was freed and used again is thus brought back
// like any other.
//
// Cost: memory of the LP once more; for each delta, one system call for each extent of at least
// kTrackedBytes, one page fault in the kernel and one comparison for each page written. Where the
// tracker does not track an extent, all of it is compared.
//
// The system may refuse memory at any point: whoever wanted a delta then has none, and everything
// is as it was.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "checkpoint/page_tracker.h"
#include "memory/lp_heap.h"

namespace orrery::checkpoint {

class Shadow {
 public:
  /// Extents with less memory are compared as a whole: cheaper than to ask the kernel.
  static constexpr std::size_t kTrackedBytes = 8 * PageTracker::kPageBytes;

  explicit Shadow(std::shared_ptr<PageTracker> tracker) : tracker_(std::move(tracker)) {}
  ~Shadow();
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;

  /// Follows the LP to its present state. Appends to `back`, if there is one, what it takes to
  /// return. Throws std::bad_alloc, and then is where it was.
  void follow(const memory::LpHeap& heap, std::vector<std::byte>* back);

  /// Takes a way back: what follow() appended when it left the state to which this returns.
  void go_back(const std::byte* steps, std::size_t bytes);

  /// The same for the shadow alone: the LP stays in the state to which the last follow() led.
  void unfollow(const std::byte* steps, std::size_t bytes);

  /// Makes the LP's memory equal to the shadow.
  void restore();

  std::size_t bytes() const { return bytes_; }

 private:
  /// Neighbouring runs of the LP, and their copy.
  struct Extent {
    std::byte* begin;
    std::byte* end;
    std::unique_ptr<std::byte[]> copy{};
    std::byte* tracked_begin = nullptr;  // whole pages that are tracked; empty: none
    std::byte* tracked_end = nullptr;
    std::size_t bytes() const { return static_cast<std::size_t>(end - begin); }
  };
  using Extents = std::vector<Extent>;  // by address

  void adopt_runs(const memory::LpHeap& heap);
  static Extents extents_of(const memory::LpHeap& heap);
  void copy_new(Extents& extents);
  void track(Extent& extent);
  void untrack(const Extent& extent);
  Extent& extent_at(const std::byte* address);
  template <class Visit>
  void for_each_written(Visit&& visit);
  template <class Visit>
  void for_each_step(const std::byte* steps, std::size_t bytes, Visit&& visit);
  template <class Visit>
  static void for_each_difference(Extent& extent, std::byte* begin, std::byte* end, Visit&& visit);

  const std::shared_ptr<PageTracker> tracker_;
  Extents extents_;
  std::uint32_t known_runs_ = 0;
  std::size_t bytes_ = 0;
  /// What the tracker told last was not acted upon: pages may differ that it does not tell again.
  bool compare_all_ = false;
};

}  // namespace orrery::checkpoint
