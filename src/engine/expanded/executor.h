// SPDX-License-Identifier: Apache-2.0
//
// A thread's side of executing events. The events that a handler sends are kept in a list for the
// thread that uses the schedule; rows are kept until all events before them are finished.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/expanded/event.h"
#include "memory/application_mode.h"
#include "run/events/event_pool.h"
#include "run/execution/execution.h"
#include "run/world/lp_record.h"
#include "run/world/world.h"

namespace orrery::expanded {

/// The result of executing an event.
struct Result {
  enum class State : std::uint32_t {
    done,
    failed,     ///< the handler failed; the executor keeps the fault
    skipped,    ///< behind a failed event of lower key: it will not commit
    dead_timer  ///< a timer that was cancelled
  };
  Event* sent = nullptr;          ///< list of the events that it sent
  std::uint64_t hash_before = 0;  ///< the LP's fingerprint, restored if the event does not commit
  State state = State::done;
  std::uint32_t cancelled_timers = 0;  ///< by its handler
};

/// Events lie on cache lines of their own (event.h).
using Pool = EventPool<64>;

/// Receives the sends, rows and values of an execution.
struct Outbox {
  Pool& pool;
  MergeableStatistics& mergeable_statistics;
  RowBuffer& rows;
  const bool keep_rows;
  Event* sent = nullptr;
  std::size_t rows_before = 0;  ///< mark before the present event; valid once it has emitted

  using Modes = OutboxModes<memory::PlatformMode>;
  template <class Payload>
  [[gnu::always_inline]] void send(const EventHeader& header, const Payload& payload) {
    void* memory = pool.allocate(Event::kPayloadOffset + header.size.bytes());
    auto* event = new (memory) Event(header);
    write_payload(event->payload(), payload, header.size);
    event->next = sent;
    sent = event;
  }
  bool takes_rows() const { return keep_rows; }
  void append_row(const Row& row) {
    if (row.ordinal == 0) rows_before = rows.mark();
    rows.append(row);
  }
  void observe(const Key&, LpId, const Observation& observation) {
    mergeable_statistics.add(observation);
  }
};

class Executor {
 public:
  /// `arena`: the thread's, if LPs lie in heaps; else null.
  Executor(const World& world, const RunOptions& options, bool keep_rows,
           std::vector<LpRecord>& lps, memory::Arena* arena, EventDepot& depot)
      : lps_(lps),
        arena_(arena),
        pool_(depot),
        mergeable_statistics_(world.model()),
        execution_(world.model(), world.promises(), options,
                   Outbox{pool_, mergeable_statistics_, rows, keep_rows}) {}
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  void trace_with(TraceRecorder* recorder, TraceLane* lane) {
    lane_ = lane;
    execution_.trace_with(recorder, lane);
  }
  /// Null: the run is not traced.
  TraceLane* lane() const { return lane_; }

  /// What the thread executes; for ThreadWatch.
  const HandlerExecution& execution() const { return execution_; }
  /// Makes an event for the pending event set.
  Event* make(const EventHeader& header, const void* payload) {
    execution_.outbox().send(header, payload);
    return take_sent();
  }

  /// Whether the event is a timer that its LP has cancelled. Ask at the moment at which the event
  /// would begin.
  bool is_dead_timer(const Event& event) const {
    return orrery::is_dead_timer(*lps_[event.receiver].object, event, event.payload());
  }
  /// Timers that handlers have cancelled on this thread.
  std::uint64_t cancelled_timers() const { return execution_.cancelled_timers(); }

  /// Executes an event; `sent` becomes the list of events that it sent. False if it failed: then
  /// the fault is noted, and its sends and rows are discarded.
  [[gnu::always_inline]] bool run(const Event& event, Event*& sent) {
    LpRecord& lp = lps_[event.receiver];
    execution_.begin(event, event.payload(), *lp.object, lp.kernel);
    if (!lp.call(
            arena_, [this] { execution_.call(); }, [&] { fail(event); })) [[unlikely]]
      return false;
    execution_.end(lp.kernel);
    sent = take_sent();
    return true;
  }

  /// Executes an event and frees it; throws nothing.
  Result execute(Event* event) {
    Result result{nullptr, lps_[event->receiver].kernel.hash, Result::State::done};
    if (fault_ && event->key() > fault_->key) [[unlikely]] {
      result.state = Result::State::skipped;
    } else if (is_dead_timer(*event)) [[unlikely]] {
      result.state = Result::State::dead_timer;
    } else {
      const std::uint64_t cancelled_before = cancelled_timers();
      if (!run(*event, result.sent)) result.state = Result::State::failed;
      result.cancelled_timers = static_cast<std::uint32_t>(cancelled_timers() - cancelled_before);
    }
    release(event);
    return result;
  }

  [[gnu::always_inline]] void release(Event* event) { pool_.release(event, event->bytes()); }
  /// Key of the event that was executed last.
  const Key& last_key() const { return execution_.cause(); }
  const MergeableStatistics& mergeable_statistics() const { return mergeable_statistics_; }
  /// The fault with the lowest key on this thread.
  const std::optional<HandlerFault>& fault() const { return fault_; }

  RowBuffer rows;  ///< of finished events; other threads may take them while this one is idle

 private:
  Event* take_sent() { return std::exchange(execution_.outbox().sent, nullptr); }

  /// Notes the current exception as the fault of `event`, and discards its rows and sends.
  [[gnu::noinline]] void fail(const Event& event) {
    fault_ = HandlerFault{event.key(), event.receiver, execution_.describe_failure()};
    if (execution_.rows() > 0) rows.return_to(execution_.outbox().rows_before);
    for (Event* sent = take_sent(); sent != nullptr;) release(std::exchange(sent, sent->next));
  }

  std::vector<LpRecord>& lps_;
  memory::Arena* const arena_;
  TraceLane* lane_ = nullptr;
  Pool pool_;
  MergeableStatistics mergeable_statistics_;
  Execution<Outbox> execution_;
  std::optional<HandlerFault> fault_;
};

}  // namespace orrery::expanded
