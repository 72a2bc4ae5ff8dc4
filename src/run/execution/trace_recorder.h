// SPDX-License-Identifier: Apache-2.0
//
// The records of a traced run (RunControl::trace; null: not traced): which events are recorded, and
// the activities of each worker, in *lanes*.
//
// A lane is memory of fixed size, allocated when the run begins. One worker writes it, and no
// thread reads it until the run is over: no lock, no atomic, no system call. Records that do not
// fit are counted and left out. An engine that takes the world over continues the lanes of the one
// before; the join of the earlier threads separates the two. A record is written when its activity
// ends, so nested activities stand before it.
//
// Neither this folder nor the engines know the file format (src/trace).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "core/cycles.h"
#include "core/lp_ranges.h"
#include "orrery/event.h"
#include "orrery/time.h"

namespace orrery {

/// The events to trace.
struct TraceScope {
  LpRanges lps;  ///< empty: all
  Time from = Time::zero(), to = Time::max();

  bool contains(LpId lp, Time time) const { return time >= from && time < to && contains(lp); }
  bool contains(LpId lp) const { return lps.empty() || orrery::contains(lps, lp); }
};

/// Activities of a worker.
enum class TraceKind : std::uint32_t {
  event,        ///< a handler, also one whose event is rolled back later
  coasted,      ///< a handler executed again while coasting forward
  dropped,      ///< a handler that was interrupted and not resumed, or crashed
  rollback,     ///< of an LP: `count` events are undone
  coasting,     ///< forward, over `count` events
  restore,      ///< of an LP's state, from a checkpoint
  checkpoint,   ///< of an LP: `count` bytes
  gvt_round,    ///< the worker's part in one; `ticks` is GVT then, `count` the committed events
  interrupted,  ///< a handler is suspended; the records within say for what
  idle,         ///< nothing can be executed
  batch,        ///< of `count` events that were handed over
  block,        ///< of a mode of an engine: `count` events
  moving,       ///< LPs, from worker to worker
  engine,       ///< an engine has the world: `count` events are committed
  set_up,       ///< LPs are made and started
  halt,         ///< of the run, for snapshots and conditions
  finish,       ///< LPs end
};
std::string_view name_of(TraceKind kind);

struct TraceRecord {
  std::uint64_t begin_cycles = 0, end_cycles = 0;
  std::int64_t ticks = 0;   ///< simulated time of the activity
  std::uint64_t count = 0;  ///< as the kind says
  /// Name of the event's type, engine or mode; static text. Empty: the kind says all.
  std::string_view text{};
  LpId lp = 0;
  TraceKind kind = TraceKind::event;
};

/// On a cache line of its own, since its worker writes it all the time.
class alignas(64) TraceLane {
 public:
  /// Pages that are never written take no memory.
  explicit TraceLane(std::size_t records)
      : records_(static_cast<TraceRecord*>(::operator new(records * sizeof(TraceRecord)))),
        capacity_(records) {}

  void add(const TraceRecord& record) {
    if (size_ == capacity_) [[unlikely]] {
      ++left_out_;
      return;
    }
    new (records_.get() + size_++) TraceRecord(record);
  }
  const TraceRecord* begin() const { return records_.get(); }
  const TraceRecord* end() const { return records_.get() + size_; }
  std::uint64_t left_out() const { return left_out_; }

 private:
  struct Free {
    void operator()(TraceRecord* records) const { ::operator delete(records); }
  };
  std::unique_ptr<TraceRecord, Free> records_;
  std::size_t capacity_, size_ = 0;
  std::uint64_t left_out_ = 0;
};

class TraceRecorder {
 public:
  /// `lane_records`: of all workers' lanes together.
  TraceRecorder(TraceScope scope, unsigned workers, std::size_t lane_records);
  TraceRecorder(const TraceRecorder&) = delete;
  TraceRecorder& operator=(const TraceRecorder&) = delete;

  const TraceScope& scope() const { return scope_; }
  /// Null for a worker beyond the expected number, which is not recorded.
  TraceLane* lane(unsigned worker) {
    return worker < lanes_.size() ? lanes_[worker].get() : nullptr;
  }
  unsigned workers() const { return static_cast<unsigned>(lanes_.size()); }
  /// The lane of the run's main thread: engines, and activities between them.
  TraceLane& run_lane() { return run_lane_; }
  const TraceLane& run_lane() const { return run_lane_; }
  const TraceLane& worker_lane(unsigned worker) const { return *lanes_[worker]; }

  /// Whether committed events are still wanted. Relaxed: a thread that sees the change late only
  /// makes records that are discarded, and the flag carries nothing else.
  bool takes_events() const { return takes_events_.load(std::memory_order_relaxed); }
  void refuse_events() { takes_events_.store(false, std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kRunRecords = 1 << 14;

  const TraceScope scope_;
  std::vector<std::unique_ptr<TraceLane>> lanes_;
  TraceLane run_lane_{kRunRecords};
  std::atomic<bool> takes_events_{true};
};

/// Null if the run is not traced.
inline TraceLane* lane_of(TraceRecorder* recorder, unsigned worker) {
  return recorder == nullptr ? nullptr : recorder->lane(worker);
}
inline TraceLane* run_lane_of(TraceRecorder* recorder) {
  return recorder == nullptr ? nullptr : &recorder->run_lane();
}

/// Records an activity that lasts as long as this object. Does nothing without a lane.
class TraceSpan {
 public:
  TraceSpan(TraceLane* lane, TraceKind kind, std::int64_t ticks = 0, LpId lp = 0,
            std::string_view text = {})
      : lane_(lane) {
    if (lane_ == nullptr) [[likely]]
      return;
    record_.kind = kind;
    record_.ticks = ticks;
    record_.lp = lp;
    record_.text = text;
    record_.begin_cycles = read_cycles();
  }
  ~TraceSpan() {
    if (lane_ == nullptr) [[likely]]
      return;
    record_.end_cycles = read_cycles();
    lane_->add(record_);
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

  void set_count(std::uint64_t count) { record_.count = count; }
  /// Records nothing after all.
  void forget() { lane_ = nullptr; }

 private:
  TraceLane* lane_;
  TraceRecord record_;
};

/// Records how long a worker had nothing to execute; the end is known only when it has work again.
class TraceIdleness {
 public:
  explicit TraceIdleness(TraceLane* lane) : lane_(lane) {}
  /// Call before looking for work.
  void at_turn() {
    if (lane_ != nullptr) [[unlikely]]
      turn_cycles_ = read_cycles();
  }
  void after_turn(bool idle) {
    if (lane_ != nullptr) [[unlikely]]
      note(idle);
  }
  ~TraceIdleness() {
    if (since_cycles_ != 0) end(read_cycles());
  }
  TraceIdleness(const TraceIdleness&) = delete;
  TraceIdleness& operator=(const TraceIdleness&) = delete;

 private:
  void note(bool idle) {
    if (idle && since_cycles_ == 0) {
      since_cycles_ = read_cycles();
    } else if (!idle && since_cycles_ != 0) {
      end(std::max(turn_cycles_, since_cycles_));
    }
  }
  void end(std::uint64_t cycles) {
    TraceRecord record{since_cycles_, cycles};
    record.kind = TraceKind::idle;
    lane_->add(record);
    since_cycles_ = 0;
  }

  TraceLane* const lane_;
  std::uint64_t turn_cycles_ = 0;
  std::uint64_t since_cycles_ = 0;  ///< 0: not idle
};

}  // namespace orrery
