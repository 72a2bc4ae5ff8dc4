// SPDX-License-Identifier: Apache-2.0
//
// Samples of a run's counters over the wall-clock time, for its report. The log has a fixed maximum
// of samples for any length of the run: when it is full, neighbours are merged and the interval
// doubles. So the log allocates no memory during the run, and sampling costs less and less.
// Counters only grow, so the later of two neighbours holds all facts but the memory, of which the
// larger value is kept.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace orrery {

struct ProgressPoint {
  double wall_seconds = 0;       ///< since the start of the run
  double simulated_seconds = 0;  ///< GVT
  std::uint64_t committed = 0;
  std::uint64_t executed = 0;
  std::uint64_t memory_bytes = 0;  ///< resident
  const char* engine = nullptr;    ///< the engine then; null if the run has one engine
  unsigned workers = 0;            ///< of that engine
};

class ProgressLog {
 public:
  static constexpr std::size_t kMost = 128;
  static constexpr double kFirstInterval = 0.02;  ///< seconds

  void add(const ProgressPoint& point);
  /// Seconds from one sample to the next.
  double interval() const { return interval_; }
  std::span<const ProgressPoint> points() const { return {points_.data(), size_}; }

  /// The log of a run that has ended, with `begin` and `end`, which are exact. Leaves out samples
  /// from before `begin`, when a resumed run had not yet reached its snapshot. A sample between two
  /// engines gets the engine before it.
  std::vector<ProgressPoint> between(const ProgressPoint& begin, const ProgressPoint& end) const;

 private:
  void halve();
  std::array<ProgressPoint, kMost> points_;
  std::size_t size_ = 0;
  double interval_ = kFirstInterval;
};

}  // namespace orrery
