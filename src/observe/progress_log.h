// SPDX-License-Identifier: Apache-2.0
//
// How a run went, for its report: samples of its counters over the wall clock. There are never more
// than a fixed number, whatever the run's length: when the log is full, neighbours are merged and
// samples come half as often. So the log needs no memory while the run may be short of it, and
// looking costs less and less. Counters only grow, so of two neighbours the later one tells all but
// the memory between them, of which the larger is kept.
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
  const char* engine = nullptr;    ///< of the moment; null where a run has one engine
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

  /// The log of a run that is over, with `begin` and `end`, which are certain. What was seen before
  /// `begin`, when a run that goes on had not yet come to where it went on, is left out; where no
  /// engine had the run, it is told with the one before.
  std::vector<ProgressPoint> between(const ProgressPoint& begin, const ProgressPoint& end) const;

 private:
  void halve();
  std::array<ProgressPoint, kMost> points_;
  std::size_t size_ = 0;
  double interval_ = kFirstInterval;
};

}  // namespace orrery
