// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/incremental.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "memory/raw.h"

namespace orrery::checkpoint {
namespace {

constexpr std::size_t kLineBytes = 64;

/// One row of changed lines in a way back; its old contents follow.
struct Step {
  std::byte* address;
  std::uint64_t bytes;
};

/// Appends all, or throws std::bad_alloc and appends nothing.
void append(std::vector<std::byte>& back, const Step& step, const std::byte* old) {
  const std::size_t bytes = back.size() + sizeof step + step.bytes;
  if (bytes > back.capacity()) back.reserve(std::max(bytes, 2 * back.capacity()));
  const auto* head = reinterpret_cast<const std::byte*>(&step);
  back.insert(back.end(), head, head + sizeof step);
  back.insert(back.end(), old, old + step.bytes);
}

std::byte* page_up(std::byte* address) {
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  return address +
         (PageTracker::kPageBytes - value % PageTracker::kPageBytes) % PageTracker::kPageBytes;
}
std::byte* page_down(std::byte* address) {
  return address - reinterpret_cast<std::uintptr_t>(address) % PageTracker::kPageBytes;
}
std::byte* next_line(std::byte* address) {
  return address + (kLineBytes - reinterpret_cast<std::uintptr_t>(address) % kLineBytes);
}

}  // namespace

Shadow::~Shadow() {
  for (const Extent& extent : extents_) untrack(extent);
}

void Shadow::follow(const memory::LpHeap& heap, std::vector<std::byte>* back) {
  if (heap.run_count() != known_runs_) adopt_runs(heap);
  const std::size_t before = back != nullptr ? back->size() : 0;
  try {
    for_each_written([&](Extent& extent, std::byte* begin, std::byte* end) {
      for_each_difference(extent, begin, end, [&](std::byte* live, std::byte* copy, std::size_t n) {
        if (back != nullptr) append(*back, {live, n}, copy);
        memory::raw_copy(copy, live, n);
      });
    });
  } catch (const std::bad_alloc&) {
    unfollow(back->data() + before, back->size() - before);
    throw;
  }
}

template <class Visit>
void Shadow::for_each_step(const std::byte* steps, std::size_t bytes, Visit&& visit) {
  for (const std::byte* at = steps; at < steps + bytes;) {
    Step step;
    std::memcpy(&step, at, sizeof step);
    at += sizeof step;
    Extent& extent = extent_at(step.address);
    visit(step.address, extent.copy.get() + (step.address - extent.begin), at, step.bytes);
    at += step.bytes;
  }
}

void Shadow::go_back(const std::byte* steps, std::size_t bytes) {
  for_each_step(steps, bytes,
                [](std::byte* live, std::byte* copy, const std::byte* old, std::size_t n) {
                  memory::raw_copy(live, old, n);
                  memory::raw_copy(copy, old, n);
                });
}

void Shadow::unfollow(const std::byte* steps, std::size_t bytes) {
  compare_all_ = true;
  for_each_step(steps, bytes, [](std::byte*, std::byte* copy, const std::byte* old, std::size_t n) {
    memory::raw_copy(copy, old, n);
  });
}

void Shadow::restore() {
  for_each_written([](Extent& extent, std::byte* begin, std::byte* end) {
    for_each_difference(extent, begin, end, [](std::byte* live, std::byte* copy, std::size_t n) {
      memory::raw_copy(live, copy, n);
    });
  });
}

/// Adds the runs that the heap has got since the last call. In the shadow's state nothing in them
/// was live, so their present contents serve as the copy. All memory is allocated before anything
/// changes.
void Shadow::adopt_runs(const memory::LpHeap& heap) {
  Extents extents = extents_of(heap);
  copy_new(extents);
  // New ranges are tracked before the tracking of old ones ends, since most are the same.
  Extents before = std::exchange(extents_, std::move(extents));
  bytes_ = 0;
  auto old = before.begin();
  for (Extent& extent : extents_) {
    if (extent.copy == nullptr) {
      while (old->begin != extent.begin) ++old;
      extent = std::move(*old);
      old->tracked_begin = old->tracked_end;
    } else {
      track(extent);
    }
    bytes_ += extent.bytes();
  }
  for (const Extent& extent : before) untrack(extent);
  known_runs_ = heap.run_count();
}

/// The extents of the heap's runs, without copies.
Shadow::Extents Shadow::extents_of(const memory::LpHeap& heap) {
  std::vector<std::pair<std::byte*, std::size_t>> runs;
  for (std::uint32_t i = 0; i < heap.run_count(); ++i) runs.push_back(heap.run_memory(i));
  std::sort(runs.begin(), runs.end());
  Extents extents;
  for (const auto& [base, bytes] : runs) {
    if (extents.empty() || extents.back().end != base) extents.push_back({base, base});
    extents.back().end = base + bytes;
  }
  return extents;
}

/// Copies the extents that have changed; keeps the old copy of the parts that had one.
void Shadow::copy_new(Extents& extents) {
  auto old = extents_.begin();
  for (Extent& extent : extents) {
    const auto first = old;
    while (old != extents_.end() && old->begin < extent.end) ++old;
    if (old - first == 1 && first->bytes() == extent.bytes()) continue;
    extent.copy = std::make_unique_for_overwrite<std::byte[]>(extent.bytes());
    memory::raw_copy(extent.copy.get(), extent.begin, extent.bytes());
    for (auto part = first; part != old; ++part)
      memory::raw_copy(extent.copy.get() + (part->begin - extent.begin), part->copy.get(),
                       part->bytes());
  }
}

void Shadow::track(Extent& extent) {
  extent.tracked_begin = page_up(extent.begin);
  extent.tracked_end = page_down(extent.end);
  const bool large =
      extent.tracked_end - extent.tracked_begin >= static_cast<std::ptrdiff_t>(kTrackedBytes);
  if (!large || !tracker_->watch(extent.tracked_begin, extent.tracked_end))
    extent.tracked_begin = extent.tracked_end = extent.begin;
}

void Shadow::untrack(const Extent& extent) {
  if (extent.tracked_begin != extent.tracked_end)
    tracker_->unwatch(extent.tracked_begin, extent.tracked_end);
}

Shadow::Extent& Shadow::extent_at(const std::byte* address) {
  const auto next = std::upper_bound(
      extents_.begin(), extents_.end(), address,
      [](const std::byte* left, const Extent& right) { return left < right.begin; });
  return *(next - 1);
}

/// Visits the memory that may differ from the copy. Untracked memory always may.
template <class Visit>
void Shadow::for_each_written(Visit&& visit) {
  const bool all = std::exchange(compare_all_, false);
  for (Extent& extent : extents_) {
    visit(extent, extent.begin, extent.tracked_begin);
    tracker_->collect(extent.tracked_begin, extent.tracked_end,
                      [&](std::byte* begin, std::byte* end) {
                        if (!all) visit(extent, begin, end);
                      });
    if (all) visit(extent, extent.tracked_begin, extent.tracked_end);
    visit(extent, extent.tracked_end, extent.end);
  }
}

/// Calls visit(live, copy, bytes) for each row of lines that differ.
template <class Visit>
void Shadow::for_each_difference(Extent& extent, std::byte* begin, std::byte* end, Visit&& visit) {
  std::byte* const copy = extent.copy.get();
  std::byte* row = nullptr;
  const auto close = [&](std::byte* row_end) {
    if (row != nullptr)
      visit(row, copy + (row - extent.begin), static_cast<std::size_t>(row_end - row));
    row = nullptr;
  };
  for (std::byte* line = begin; line < end;) {
    std::byte* const line_end = std::min(next_line(line), end);
    const auto bytes = static_cast<std::size_t>(line_end - line);
    if (memory::raw_equal(line, copy + (line - extent.begin), bytes)) {
      close(line);
    } else if (row == nullptr) {
      row = line;
    }
    line = line_end;
  }
  close(end);
}

}  // namespace orrery::checkpoint
