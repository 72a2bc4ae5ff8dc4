// SPDX-License-Identifier: Apache-2.0
//
// The event loop of a worker of an engine that executes each event once. It has the worker's
// pending events and everything that an event leaves: sends, rows, observations, a fault. An event
// of another worker with a lower key may still fail, and then the run ends at that key. So effects
// are kept until `commit` says that all events before a key are executed and have not failed.
//
// The engine decides which events may be executed when, and supplies the exchange of events with
// other workers:
//   unsigned workers() const, EventDepot& depot()
//   unsigned owner(LpId) const      a worker of this rank, or a number from workers() on, which
//                                   stands for another rank
//   void hand(unsigned from, unsigned to, PlainEvent*)                    for a worker of this rank
//   void send(unsigned from, unsigned owner, header, payload)             for another rank
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/model_stack.h"
#include "memory/application_mode.h"
#include "pending/engine_set.h"
#include "run/execution/execution.h"
#include "run/loop/key_order.h"
#include "run/loop/look_interval.h"
#include "run/loop/plain_events.h"
#include "run/workers/fingerprint_log.h"
#include "run/workers/handler_thread.h"
#include "run/workers/uncommitted_rows.h"
#include "run/world/world_engine.h"

namespace orrery {

/// On cache lines of its own, since its members are written all the time.
template <class Exchange>
class alignas(64) EventLoop {
 public:
  EventLoop(World& world, const RunOptions& options, RunControl& control, Exchange& exchange,
            unsigned worker)
      : world_(world),
        control_(control),
        exchange_(exchange),
        worker_(worker),
        arena_(world.on_heaps() ? &world.arena(first_part()) : nullptr),
        execution_(world.model(), world.promises(), options, Outbox{*this}),
        rows_(control, world.model(), options, worker),
        trail_(options.livelock_microsteps) {
    execution_.trace_with(control.trace, lane_of(control.trace, worker));
  }
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // ---- By the worker's thread

  /// Calls `work` where handlers may be called.
  template <class Work>
  void run(Work&& work) {
    const HandlerThread thread(world_, control_, execution_);
    work();
    note_ = thread.note();
  }
  /// Takes the pending events of the worker's parts of the world, and sends those for LPs of others.
  void take_events() {
    for (unsigned part = 0; part < world_.parts(); ++part)
      if (world_.worker_of(part, exchange_.workers()) == worker_)
        world_.pending[part].take_all(
            [this](const EventHeader& header, const void* payload) { send(header, payload); });
  }
  /// For an event from another worker.
  void push(PlainEvent* event) { events_.push(event); }
  /// Executes events in the order of their keys, as long as `may_begin(event)` holds for the next
  /// one, for a few milliseconds at most. Executes nothing after a fault.
  template <class MayBegin>
  void execute(MayBegin&& may_begin) {
    interval_.begin();
    std::uint64_t begun = 0;
    const auto loop = [&] {
      loop::execute_in_order(
          events_, begun, [&] { return begun < interval_.events() && !fault_; }, may_begin,
          [this](PlainEvent* event) { handle(event); });
    };
    // A crash leaves `loop` by a jump.
    if (!recoverable(loop)) [[unlikely]]
      end_dropped_call([this] { note_fault(); });
    highest_ = std::max(highest_, execution_.cause());
    interval_.look();
    events_.reclaim_if_many(execution_.cancelled_timers(), world_.lps());
  }
  /// The lowest key of the events that are not executed, or of the one that failed.
  Key lowest() {
    if (fault_) return fault_->key;
    const PlainEvent* const event = events_.top();
    return event == nullptr ? Key::infinity() : event->key();
  }
  /// Everything before `until` is executed and has not failed.
  void commit(const Key& until) {
    log_.forget(until, trail_);
    rows_.commit(until);
  }
  /// Takes back what was executed behind a fault, commits up to the cut, and returns the pending
  /// events to the world.
  void end(RunEnd end, const Key& cut) {
    if (end == RunEnd::fault) taken_back_ = log_.take_back(cut, world_.lps());
    commit(cut);
    events_.give_to(world_.pending[first_part()]);
  }

  // ---- By the worker's thread, or after it has ended

  bool has_failed() const { return fault_.has_value(); }
  const std::optional<HandlerFault>& fault() const { return fault_; }
  /// The highest key of the events that were begun.
  const Key& highest() const { return highest_; }
  /// Number of events executed, and how many of them were taken back.
  std::uint64_t executed() const { return executed_; }
  std::uint64_t taken_back() const { return taken_back_; }
  std::size_t pending() const { return events_.size(); }
  std::uint64_t memory_bytes() const { return events_.bytes() + log_.bytes() + rows_.bytes(); }
  /// Of committed events.
  const LivelockTrail& trail() const { return trail_; }
  /// Of all executed events; not reported after a fault.
  const MergeableStatistics& mergeable_statistics() const { return mergeable_statistics_; }
  /// A note for the result; may be empty.
  const std::string& note() const { return note_; }

 private:
  struct Outbox {
    EventLoop& loop;
    using Modes = OutboxModes<memory::HeapScope, memory::PlatformMode>;
    template <class Payload>
    [[gnu::always_inline]] void send(const EventHeader& header, const Payload& payload) {
      loop.send(header, payload);
    }
    bool takes_rows() const { return loop.rows_.keeps(); }
    void append_row(const Row& row) { loop.rows_.append(row); }
    void observe(const Key&, LpId, const Observation& observation) {
      loop.mergeable_statistics_.add(observation);
    }
  };

  unsigned first_part() const { return world_.first_part(worker_, exchange_.workers()); }

  template <class Payload>
  [[gnu::always_inline]] void send(const EventHeader& header, const Payload& payload) {
    const unsigned owner = exchange_.owner(header.receiver);
    if (owner == worker_) [[likely]]
      return events_.push(header, payload);
    const memory::PlatformMode platform;
    if (owner < exchange_.workers()) {
      exchange_.hand(worker_, owner, events_.make(header, payload));
    } else {
      exchange_.send(worker_, owner, header, payload);
    }
  }
  [[gnu::always_inline]] void handle(PlainEvent* event) {
    World::Lp* const lp = events_.begin(event, world_.lps(), execution_);
    if (lp == nullptr) return;
    const std::uint64_t hash_before = lp->kernel.hash;
    if (!call(event->receiver)) [[unlikely]]
      return;
    execution_.end(lp->kernel);
    ++executed_;
    log_.add(event->key(), event->receiver, hash_before);
    events_.release(event);
  }
  /// Calls the handler in the memory of its LP. False if it failed.
  [[gnu::always_inline]] bool call(LpId id) {
    const auto action = [this] { execution_.call(); };
    const auto on_failure = [this] { note_fault(); };
    if (arena_ == nullptr) return guarded_part(action, on_failure);
    world_.heap(id).use_arena(*arena_);
    return guarded_part(world_.heap(id), action, on_failure);
  }
  /// Notes the exception that is being handled. Events that the handler has sent to other workers
  /// stay there: they come after the fault, so they are never executed.
  [[gnu::noinline]] void note_fault() {
    fault_ = HandlerFault{execution_.cause(), execution_.self(), execution_.describe_failure()};
    rows_.drop_last(execution_.rows());
  }
  using Pending = pending::EngineSet<PlainEvent>;

  World& world_;
  RunControl& control_;
  Exchange& exchange_;
  const unsigned worker_;
  memory::Arena* const arena_;  ///< of this worker; null: LPs lie in ordinary memory
  loop::PlainEvents<Pending, World::Lp, EventPool<64>> events_{exchange_.depot()};
  Execution<Outbox> execution_;
  LookInterval interval_;
  std::uint64_t executed_ = 0, taken_back_ = 0;
  FingerprintLog log_;
  UncommittedRows rows_;
  MergeableStatistics mergeable_statistics_{world_.model()};
  LivelockTrail trail_;
  Key highest_;
  std::optional<HandlerFault> fault_;
  std::string note_;
};

}  // namespace orrery
