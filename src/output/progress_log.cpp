// SPDX-License-Identifier: Apache-2.0
#include "output/progress_log.h"

#include <algorithm>

namespace orrery {

void ProgressLog::add(const ProgressPoint& point) {
  if (size_ == kMost) halve();
  points_[size_++] = point;
}

void ProgressLog::halve() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < size_; i += 2) {
    const std::size_t later = std::min(i + 1, size_ - 1);
    ProgressPoint merged = points_[later];
    merged.memory_bytes = std::max(merged.memory_bytes, points_[i].memory_bytes);
    points_[kept++] = merged;
  }
  size_ = kept;
  interval_ *= 2;
}

std::vector<ProgressPoint> ProgressLog::between(const ProgressPoint& begin,
                                                const ProgressPoint& end) const {
  std::vector<ProgressPoint> all = {begin};
  for (const ProgressPoint& one : points()) {
    const bool in_order = one.wall_seconds > all.back().wall_seconds &&
                          one.wall_seconds < end.wall_seconds &&
                          one.committed >= all.back().committed && one.committed <= end.committed;
    if (!in_order) continue;
    const ProgressPoint before = all.back();
    all.push_back(one);
    if (one.engine != nullptr) continue;
    all.back().engine = before.engine;
    all.back().workers = before.workers;
  }
  all.push_back(end);
  return all;
}

}  // namespace orrery
