// SPDX-License-Identifier: Apache-2.0
//
// Calls handlers on a worker: for speculative events, for events that cannot be undone, and for
// events that are executed again while an LP coasts forward.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/timewarp/emitted.h"
#include "engine/timewarp/fault_list.h"
#include "engine/timewarp/lp_state.h"
#include "engine/timewarp/mailbox.h"
#include "run/containment/guarded_call.h"
#include "run/execution/execution.h"
#include "run/world/world.h"

namespace orrery::timewarp {

inline constexpr const char* kFailedCoasting =
    " (it went well when it was executed first: the handler depends on something outside the LP)";

/// Receives the sends, rows and values of an execution.
struct Outbox {
  Mailbox& mailbox;
  Pending& pending;
  Emitted& emitted;
  checkpoint::UndoLog& undo_log;
  TwEvent* cause = nullptr;  ///< its rollback cancels the sends; nullptr: they are final
  bool coasting = false;     ///< the execution has no effects outside the LP

  using Modes = OutboxModes<memory::PlatformMode, memory::PlatformMode, memory::PlatformMode>;
  template <class Payload>
  [[gnu::always_inline]] void send(const EventHeader& header, const Payload& payload) {
    TwEvent* event = nullptr;
    if (mailbox.send(header, payload, cause, event)) pending.push(event);
  }
  bool takes_rows() const { return emitted.has_rows; }
  void append_row(const Row& row) { emitted.append(row); }
  void observe(const Key& key, LpId lp, const Observation& observation) {
    emitted.append(key, lp, observation);
  }
  void save_before(const void* address, std::size_t bytes) { undo_log.save_before(address, bytes); }
  void remember(const void* value, std::size_t bytes) { undo_log.remember(value, bytes); }
};

class Executor {
 public:
  Executor(const World& world, const RunOptions& options, LpStates& lps, FaultList& faults,
           const Outbox& outbox, TraceRecorder* recorder, TraceLane* lane)
      : world_(world),
        options_(options),
        lps_(lps),
        faults_(faults),
        emitted_(outbox.emitted),
        recorder_(recorder),
        lane_(lane) {
    levels_.push_back(make_level(outbox));
    execution_ = levels_.front().get();
  }
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// What the thread executes; for ThreadWatch.
  const HandlerExecution& execution() const { return *execution_; }
  /// Timers that handlers have cancelled, including cancellations that were rolled back.
  std::uint64_t cancelled_timers() const {
    std::uint64_t all = 0;
    for (const auto& level : levels_) all += level->cancelled_timers();
    return all;
  }
  /// Executes an event. False if its handler failed; the fault is noted.
  bool run(LpState& lp, TwEvent* event, bool reversing) {
    execution_->set_reversing(reversing);
    execution_->outbox().cause = event;
    return call<Place::batch>(lp, event, "");
  }
  /// The event that `run` executes, or nullptr.
  TwEvent* running() const { return execution_->outbox().cause; }
  /// `run` was dropped: as if it had returned false.
  void end_dropped(LpState& lp, TwEvent* event) {
    execution_->note_dropped();
    end_dropped_call([&] { faults_.note(event, lp, true, ""); });
    end(lp, false);
  }
  void make_room_for_interrupt() {
    if (level_ + 1 == levels_.size()) levels_.push_back(make_level(execution_->outbox()));
  }
  /// Interrupts the event that `run` executes: other events are executed until `go_on`.
  void interrupt(LpState& lp) {
    note_growth(lp);
    execution_ = levels_[++level_].get();
  }
  /// The execution of the handler that was interrupted last.
  const HandlerExecution& interrupted() const { return *levels_[level_ - 1]; }
  void go_on() { execution_ = levels_[--level_].get(); }
  /// `run` was dropped, and its event is undone.
  void end_squashed() {
    heap_misuse() = {};
    memory::thread_context.heap_grew = false;
    execution_->note_dropped();
    execution_->outbox().cause = nullptr;
  }
  /// Executes an event that cannot be undone; its sends are final. False if its handler failed.
  bool run_final(LpState& lp, TwEvent* event) {
    execution_->set_reversing(false);
    if (call<Place::own>(lp, event, "")) return true;
    emitted_.roll_back(event->receiver, event->key());
    return false;
  }
  /// Executes an event again while coasting forward, without effects outside the LP.
  bool coast(LpState& lp, TwEvent* event) {
    execution_->outbox().coasting = true;
    execution_->set_reversing(false);
    const bool succeeded = call<Place::own>(lp, event, kFailedCoasting);
    execution_->outbox().coasting = false;
    return succeeded;
  }

 private:
  /// Where the worker goes on after a crash: here, or at the batch (core/model_stack.h).
  enum class Place : std::uint8_t { own, batch };

  template <Place place>
  bool call(LpState& lp, TwEvent* event, const char* addition) {
    execution_->begin(*event, event->payload(), *lp.object, lp.kernel);
    const auto action = [execution = execution_] { execution->call(); };
    const auto on_failure = [&] { faults_.note(event, lp, place == Place::batch, addition); };
    memory::LpHeap& heap = lps_.heap(event->receiver);
    bool succeeded = false;
    if constexpr (place == Place::batch) {
      succeeded = guarded_part(heap, action, on_failure);
    } else {
      succeeded = guarded_call(heap, action, on_failure);
    }
    end(lp, succeeded);
    return succeeded;
  }
  [[gnu::always_inline]] void end(LpState& lp, bool succeeded) {
    execution_->outbox().cause = nullptr;
    note_growth(lp);
    if (succeeded) [[likely]]
      execution_->end(lp.kernel);
  }
  /// If the LP allocated something, its heap may have more than one chunk: checkpoints go through
  /// the heap from now on.
  static void note_growth(LpState& lp) {
    if (!memory::thread_context.heap_grew) [[likely]]
      return;
    memory::thread_context.heap_grew = false;
    lp.one_chunk = 0;
  }

  using Level = Execution<Outbox>;
  std::unique_ptr<Level> make_level(Outbox outbox) const {
    outbox.cause = nullptr;
    auto level = std::make_unique<Level>(world_.model(), world_.promises(), options_, outbox);
    level->trace_with(recorder_, lane_);
    return level;
  }

  const World& world_;
  const RunOptions& options_;
  LpStates& lps_;
  FaultList& faults_;
  Emitted& emitted_;
  TraceRecorder* const recorder_;  ///< null, like the lane: the run is not traced
  TraceLane* const lane_;
  Level* execution_;  ///< of the handler that runs
  /// One for each interrupted handler, and one more, since an interrupted handler keeps its
  /// Context.
  std::vector<std::unique_ptr<Level>> levels_;
  std::size_t level_ = 0;
};

}  // namespace orrery::timewarp
