// SPDX-License-Identifier: Apache-2.0
//
// The work of a rank's workers, in the trace file: a track for each lane, where nested records are
// drawn within each other, and counters of GVT and of committed events.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "run/execution/trace_recorder.h"

namespace orrery::trace {

/// The records of one worker, or of the run's main thread, in nanoseconds of wall-clock time since
/// the run began. A lane may come from another process.
struct Lane {
  struct Record {
    std::uint64_t begin = 0, end = 0;
    std::int64_t ticks = 0;
    std::uint64_t count = 0;
    std::uint32_t text = 0;  ///< index in `texts`
    LpId lp = 0;
    TraceKind kind = TraceKind::event;
  };
  std::string name;
  std::vector<Record> records;  ///< sorted by begin; an enclosing record stands first
  std::vector<std::string> texts;
  std::uint64_t left_out = 0;
};

/// Converts the time stamp counter to wall-clock time, from two readings of both.
class WallClock {
 public:
  WallClock();
  /// Takes the second reading. Call it when the run has ended.
  void stop();
  /// Nanoseconds since the constructor.
  std::uint64_t nanoseconds(std::uint64_t cycles) const;
  /// Nanoseconds from the epoch to the constructor, to align the clocks of ranks.
  std::int64_t epoch_nanoseconds() const { return epoch_nanoseconds_; }

 private:
  std::uint64_t begin_cycles_, end_cycles_ = 0;
  std::int64_t begin_nanoseconds_, epoch_nanoseconds_;
  double nanoseconds_a_cycle_ = 0;
};

/// All lanes with records, the run's lane first.
std::vector<Lane> lanes_of(const TraceRecorder& recorder, const WallClock& clock);

/// Usual bytes of a record in the file, from which the capacity of lanes is computed.
inline constexpr std::uint64_t kRecordBytes = 72;

/// Writes the packets of a rank's lanes, up to `most_bytes`. Returns how many records are not in
/// the file, including those for which a lane had no room.
std::uint64_t append_life(const std::vector<Lane>& lanes, unsigned rank, double tick_seconds,
                          std::uint64_t most_bytes, const std::function<void(std::string&)>& flush);

}  // namespace orrery::trace
