// SPDX-License-Identifier: Apache-2.0
#include "engine/timewarp/journal.h"

#include <algorithm>

namespace orrery::timewarp {

void Journal::open_segment() {
  const std::uint64_t number = head_ / kSegment;
  const std::uint64_t first = tail_ / kSegment;
  if (number - first >= segments_.size()) {
    std::vector<Entry*> longer(std::max<std::size_t>(2 * segments_.size(), 16));
    for (std::uint64_t i = first; i < number; ++i)
      longer[i & (longer.size() - 1)] = segments_[i & (segments_.size() - 1)];
    segments_ = std::move(longer);
  }
  auto* segment = static_cast<Entry*>(pool_.allocate(kSegmentBytes));
  ORRERY_ASSERT(reinterpret_cast<std::uintptr_t>(segment) % alignof(Entry) == 0,
                "entries lie on cache lines");
  segments_[number & (segments_.size() - 1)] = segment;
  next_ = segment;
  segment_end_ = segment + kSegment;
}

void Journal::release_segments(std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t i = first; i < end; ++i)
    pool_.release(segments_[i & (segments_.size() - 1)], kSegmentBytes);
}

void Journal::drop_until(std::uint64_t number) {
  release_segments(tail_ / kSegment, number / kSegment);
  tail_ = number;
}

void Journal::trim() {
  const std::uint64_t head_before = head_;
  while (head_ > tail_ && at(head_ - 1).lp == kUndone) --head_;
  if (head_ == head_before) return;
  const auto segments_before = [](std::uint64_t number) {
    return (number + kSegment - 1) / kSegment;
  };
  release_segments(segments_before(head_), segments_before(head_before));
  const bool at_boundary = head_ % kSegment == 0;
  next_ = at_boundary ? nullptr : &at(head_);
  segment_end_ = at_boundary ? nullptr : next_ + (kSegment - head_ % kSegment);
}

}  // namespace orrery::timewarp
