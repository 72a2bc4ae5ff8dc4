// SPDX-License-Identifier: Apache-2.0
//
// Incremental checkpoints: their time and memory depend on the changes, not on the LP's size.
//
// An LP has one shadow: a copy of all its memory as it was at its newest delta. A new checkpoint
// compares the pages written since then (page_tracker.h) with the shadow, in lines of 64 bytes. A
// line that differs is moved from the shadow to the *way back* of the previous delta, and the
// shadow gets the LP's line. So a delta holds the old contents of all lines that changed after it.
// Fossil collection just drops old deltas, and no chain ends in a full copy. A rollback applies the
// ways back, newest first, then makes the LP equal to the shadow.
//
// Shadow and ways back are raw bytes of whole runs, free chunks included; each delta has a layout
// that says which chunks are live. So a chunk that was freed and used again is restored like any
// other.
//
// Cost: a second copy of the LP's memory; for each delta, one system call for each extent of at
// least kTrackedBytes, one page fault in the kernel and one comparison for each page written. An
// extent that the tracker does not track is compared as a whole.
//
// The system may refuse memory at any point. The caller then gets no delta, and nothing has
// changed.
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
  /// Smaller extents are compared as a whole, which is cheaper than a call of the kernel.
  static constexpr std::size_t kTrackedBytes = 8 * PageTracker::kPageBytes;

  explicit Shadow(std::shared_ptr<PageTracker> tracker) : tracker_(std::move(tracker)) {}
  ~Shadow();
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;

  /// Makes the shadow equal to the LP's present state. Appends the way back to `back`, unless that
  /// is nullptr. Throws std::bad_alloc and leaves the shadow as it was.
  void follow(const memory::LpHeap& heap, std::vector<std::byte>* back);

  /// Applies a way back to LP and shadow: the bytes that follow() appended when it left that state.
  void go_back(const std::byte* steps, std::size_t bytes);

  /// Applies a way back to the shadow alone: the LP stays in the state that the last follow() read.
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
    std::byte* tracked_begin = nullptr;  // the whole pages that are tracked; may be empty
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
  /// The tracker's last answer was not used: pages may differ that it will not report again.
  bool compare_all_ = false;
};

}  // namespace orrery::checkpoint
