// SPDX-License-Identifier: Apache-2.0
//
// The committed events of a traced run, in the order of their keys, and their packets in the file.
//
// Events stay in memory until the run has ended (72 bytes each, 16 more while the file is written),
// because only then is it known which sent events are in the trace: an arrow needs both its ends.
// The size in the file is estimated as events come, as an upper bound that depends on their
// contents alone, so that a full trace ends at the same event on every engine.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/nanoseconds.h"
#include "output/row_store.h"
#include "run/execution/trace_recorder.h"
#include "run/execution/traced_event.h"
#include "trace/format.h"
#include "trace/packets.h"

namespace orrery::trace {

/// Takes traced events out of the rows of a run, and passes the model's rows on.
class CommittedEvents final : public RowWriter {
 public:
  /// `most_bytes`: of the file. `next`: null, or must outlive this object.
  CommittedEvents(Facts facts, std::uint64_t most_bytes, TraceRecorder& recorder, RowWriter* next);

  void write(const Row& row) override;

  /// Without the start() calls of LPs.
  std::uint64_t events() const { return events_.size() - starts_; }
  bool is_full() const { return full_at_.has_value(); }
  /// All events before this time are in the trace; nothing if the trace is not full.
  const std::optional<Time>& full_at() const { return full_at_; }

  /// Makes the packets in pieces: `flush(text)` must write `text` and clear it.
  void append_packets(const std::function<void(std::string&)>& flush) const;

 private:
  friend class CommittedPackets;
  struct Stored {
    Key key;
    LpId lp;
    std::uint32_t name, payload_bytes, sends;
    std::int64_t duration_ticks;
    std::uint64_t fingerprint, first_send;
  };
  std::uint64_t bytes_of(const Stored& event);

  const Facts facts_;
  const std::uint64_t most_bytes_;
  TraceRecorder& recorder_;
  RowWriter* const next_;
  std::deque<Stored> events_;
  std::deque<std::string> names_;  ///< of event types; 0: start()
  std::unordered_map<EventTypeId, std::uint32_t> types_;
  std::vector<bool> lps_seen_;
  std::uint64_t bytes_ = 0, starts_ = 0;
  std::optional<Time> full_at_;
};

/// Converts the model's ticks to the file's nanoseconds. If a tick is shorter than 1 ns, or if
/// times would overflow, 1 tick becomes 1 ns, so that no two ticks share a timestamp.
class TimeScale {
 public:
  TimeScale(double tick_seconds, std::int64_t last_ticks);
  std::uint64_t timestamp(std::int64_t ticks) const { return clock_.of(ticks); }
  bool is_real() const { return is_real_; }

 private:
  bool is_real_;
  Nanoseconds clock_;
};

}  // namespace orrery::trace
