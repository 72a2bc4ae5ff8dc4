// SPDX-License-Identifier: Apache-2.0
//
// What the workers of a rank did, in the file: a track for each lane, with what lay within
// something drawn within it, and counters of GVT and of committed events.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "run/trace_recorder.h"

namespace orrery::trace {

/// Of one worker, or of the thread that the run belongs to; in nanoseconds of wall-clock time since
/// the run began. It may come from another process.
struct Lane {
  struct Record {
    std::uint64_t begin = 0, end = 0;
    std::int64_t ticks = 0;
    std::uint64_t count = 0;
    std::uint32_t text = 0;  ///< place in `texts`
    LpId lp = 0;
    TraceKind kind = TraceKind::event;
  };
  std::string name;
  std::vector<Record> records;  ///< by begin; what lies within something stands behind it
  std::vector<std::string> texts;
  std::uint64_t left_out = 0;
};

/// Wall-clock time from the time stamp counter, by two points.
class WallClock {
 public:
  WallClock();
  /// Once the run is over.
  void stop();
  /// Since it was made.
  std::uint64_t nanoseconds(std::uint64_t cycles) const;
  /// Since the epoch, when it was made: to set clocks of ranks beside each other.
  std::int64_t epoch_nanoseconds() const { return epoch_nanoseconds_; }

 private:
  std::uint64_t begin_cycles_, end_cycles_ = 0;
  std::int64_t begin_nanoseconds_, epoch_nanoseconds_;
  double nanoseconds_a_cycle_ = 0;
};

/// All lanes in which something is, the run's first.
std::vector<Lane> lanes_of(const TraceRecorder& recorder, const WallClock& clock);

/// What a record usually takes in the file: so many lanes make room for.
inline constexpr std::uint64_t kRecordBytes = 72;

/// The packets of a rank's lanes, of which what is beyond `most_bytes` is left out. Returns how
/// many records are not in the file, with those that no lane had room for.
std::uint64_t append_life(const std::vector<Lane>& lanes, unsigned rank, double tick_seconds,
                          std::uint64_t most_bytes, const std::function<void(std::string&)>& flush);

}  // namespace orrery::trace
