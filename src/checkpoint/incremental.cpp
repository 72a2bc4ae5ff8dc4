// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/incremental.h"

#include <algorithm>
#include <cstring>

#include "memory/raw.h"

namespace orrery::checkpoint {
namespace {

constexpr std::size_t kLineBytes = 64;

/// One row of changed lines in a way back; its old contents follow.
struct Step {
  std::byte* address;
  std::uint64_t bytes;
};

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

void Shadow::follow(const memory::LpHeap& heap, std::vector<std::byte>* back) {
  if (heap.run_count() != known_runs_) adopt_runs(heap);
  for_each_written([&](Extent& extent, std::byte* begin, std::byte* end) {
    for_each_difference(extent, begin, end, [&](std::byte* live, std::byte* copy, std::size_t n) {
      if (back != nullptr) {
        const Step step{live, n};
        const auto* head = reinterpret_cast<const std::byte*>(&step);
        back->insert(back->end(), head, head + sizeof step);
        back->insert(back->end(), copy, copy + n);
      }
      memory::raw_copy(copy, live, n);
    });
  });
}

void Shadow::go_back(const std::byte* steps, std::size_t bytes) {
  for (const std::byte* at = steps; at < steps + bytes;) {
    Step step;
    std::memcpy(&step, at, sizeof step);
    at += sizeof step;
    Extent& extent = extent_of(step.address);
    memory::raw_copy(step.address, at, step.bytes);
    memory::raw_copy(extent.copy.data() + (step.address - extent.begin), at, step.bytes);
    at += step.bytes;
  }
}

void Shadow::restore() {
  for_each_written([](Extent& extent, std::byte* begin, std::byte* end) {
    for_each_difference(extent, begin, end, [](std::byte* live, std::byte* copy, std::size_t n) {
      memory::raw_copy(live, copy, n);
    });
  });
}

/// Takes in the runs that the heap got since. At the shadow's state nothing in them was live, so
/// whatever they hold now is as good a copy as any.
void Shadow::adopt_runs(const memory::LpHeap& heap) {
  std::vector<std::pair<std::byte*, std::size_t>> runs;
  for (std::uint32_t i = 0; i < heap.run_count(); ++i) runs.push_back(heap.run_memory(i));
  std::sort(runs.begin(), runs.end());
  std::vector<Extent> before = std::exchange(extents_, {});
  for (const auto& [base, bytes] : runs) {
    if (extents_.empty() || extents_.back().end != base)
      extents_.push_back({base, base, {}, nullptr, nullptr});
    extents_.back().end = base + bytes;
  }
  bytes_ = 0;
  for (Extent& extent : extents_) {
    const auto size = static_cast<std::size_t>(extent.end - extent.begin);
    extent.copy.resize(size);
    memory::raw_copy(extent.copy.data(), extent.begin, size);
    bytes_ += size;
    track(extent);
  }
  // What was known stays as it was.
  for (const Extent& old : before) {
    Extent& extent = extent_of(old.begin);
    std::copy(old.copy.begin(), old.copy.end(), extent.copy.begin() + (old.begin - extent.begin));
  }
  known_runs_ = heap.run_count();
}

void Shadow::track(Extent& extent) {
  extent.tracked_begin = page_up(extent.begin);
  extent.tracked_end = page_down(extent.end);
  const bool large =
      extent.tracked_end - extent.tracked_begin >= static_cast<std::ptrdiff_t>(kTrackedBytes);
  if (!large || !tracker_.watch(extent.tracked_begin, extent.tracked_end))
    extent.tracked_begin = extent.tracked_end = extent.begin;
}

Shadow::Extent& Shadow::extent_of(const std::byte* address) {
  const auto next = std::upper_bound(
      extents_.begin(), extents_.end(), address,
      [](const std::byte* left, const Extent& right) { return left < right.begin; });
  return *(next - 1);
}

/// Rows of memory that may differ from the copy. What is not tracked always may.
template <class Visit>
void Shadow::for_each_written(Visit&& visit) {
  for (Extent& extent : extents_) {
    visit(extent, extent.begin, extent.tracked_begin);
    tracker_.collect(extent.tracked_begin, extent.tracked_end,
                     [&](std::byte* begin, std::byte* end) { visit(extent, begin, end); });
    visit(extent, extent.tracked_end, extent.end);
  }
}

/// Calls visit(live, copy, bytes) for each row of lines that differ.
template <class Visit>
void Shadow::for_each_difference(Extent& extent, std::byte* begin, std::byte* end, Visit&& visit) {
  std::byte* const copy = extent.copy.data();
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
