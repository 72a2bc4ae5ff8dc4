// SPDX-License-Identifier: Apache-2.0
#include "run/one_by_one.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/model_stack.h"
#include "pending/engine_set.h"
#include "pending/erase_if.h"
#include "run/clock.h"
#include "run/event_pool.h"
#include "run/execution.h"
#include "run/look_ahead.h"
#include "run/look_interval.h"
#include "run/lp_memory.h"
#include "run/plain_event.h"
#include "run/withdrawn_count.h"

namespace orrery {
namespace {

template <class Pending, class Memory>
class OneByOne {
 public:
  OneByOne(World& world, const RunOptions& options, const Goal& goal, RunControl& control)
      : world_(world),
        model_(world.model()),
        options_(options),
        goal_(goal),
        control_(control),
        lps_(world.lps()),
        memory_(world),
        execution_(world.model(), world.promises(), options, Outbox{*this}),
        end_(world.cut) {
    execution_.trace_with(control.trace, lane_of(control.trace, 0));
  }
  OneByOne(const OneByOne&) = delete;
  OneByOne& operator=(const OneByOne&) = delete;

  void advance(RunResult& result) {
    const ThreadWatch watched(control_.threads, model_, execution_, false);
    if (control_.rows != nullptr) control_.rows->begin(1);
    Stopwatch watch;
    for (EventList& list : world_.pending)
      list.take_all(
          [this](const EventHeader& header, const void* payload) { send(header, payload); });
    result.startup_seconds += watch.lap();
    try {
      if (!recoverable([&] { result.end = loop(); })) {
        is_torn_ = true;
        throw_crash();
      }
    } catch (...) {
      result.end = RunEnd::fault;
      end_ = execution_.cause();
      const HandlerFault fault{execution_.cause(), execution_.self(),
                               execution_.describe_failure()};
      FaultReport report(fault.key, options_.livelock_microsteps);
      report.add(&fault);
      report.add(world_.trail);
      result.fault = report.text();
      if (execution_.rows() > 0) rows_.return_to(rows_before_);
    }
    result.loop_seconds += watch.lap();
    give_back(result);
  }

 private:
  /// Sends go into the pending event set; rows are final.
  struct Outbox {
    OneByOne& run;
    template <class Payload>
    void send(const EventHeader& header, const Payload& payload) {
      run.send(header, payload);
    }
    void append_row(const Row& row) { run.append_row(row); }
    void observe(const Key&, LpId, const Observation& observation) {
      run.world_.tally.add(observation);
    }
  };

  RunEnd loop() {
    const Time until = goal_.end(options_);
    LookInterval interval;
    for (GoalWatch goal(goal_);; interval.look()) {
      for (std::uint64_t n = goal.until_look(committed_, interval.events()); n > 0; --n) {
        PlainEvent* event = pending_.top();
        if (event == nullptr || event->time() >= until) return end_of(event);
        pending_.pop();
        handle(event);
      }
      end_ = std::max(end_, execution_.cause().next());
      poll();
      if (withdrawn_.are_many(execution_.cancelled_timers(), pending_.size())) reclaim();
      if (control_.stop_requested.load(std::memory_order_relaxed)) return RunEnd::interrupted;
      if (goal.reached_for_good(committed_, pending_.size())) return RunEnd::paused;
    }
  }

  /// No event is left before a pause, or at all.
  [[gnu::noinline]] RunEnd end_of(const PlainEvent* next) {
    const bool pauses = next != nullptr && next->time() < options_.until;
    end_ = pauses ? Key::start_of(goal_.until) : Key::infinity();
    poll();
    return pauses ? RunEnd::paused : RunEnd::completed;
  }

  void handle(PlainEvent* event) {
    World::Lp& lp = lps_[event->receiver];
    prefetch_next(pending_, lps_);
    if (pending_.announces()) [[unlikely]]
      look_ahead_.step(pending_, lps_, memory_.look_ahead());
    ORRERY_ASSERT(event->key() > execution_.cause(), "events are handled in the order of keys");
    if (is_withdrawn(*lp.object, *event, event->payload())) [[unlikely]] {
      pool_.release(event, event->bytes());
      withdrawn_.note_dropped();
      return;
    }
    execution_.begin(*event, event->payload(), *lp.object, lp.kernel);
    world_.trail.note(event->key(), event->receiver);
    memory_.call(event->receiver, [this] { execution_.call(); });
    execution_.end(lp.kernel);
    ++committed_;
    pool_.release(event, event->bytes());
  }

  template <class Payload>
  void send(const EventHeader& header, const Payload& payload) {
    pending_.push(PlainEvent::make(pool_, header, payload));
  }

  void append_row(const Row& row) {
    if (control_.rows == nullptr) return;
    [[maybe_unused]] const typename Memory::Platform platform;
    if (row.ordinal == 0) rows_before_ = rows_.mark();
    rows_.append(row);
  }

  /// Removes the cancelled timers whose time has not come.
  [[gnu::noinline]] void reclaim() {
    std::vector<PlainEvent*> scratch;
    pending::erase_if(pending_, scratch, [this](PlainEvent* event) {
      if (!is_withdrawn(*lps_[event->receiver].object, *event, event->payload())) return false;
      pool_.release(event, event->bytes());
      return true;
    });
    withdrawn_.note_reclaimed(execution_.cancelled_timers());
  }

  std::uint64_t memory_bytes() const { return depot_.slab_bytes() + pending_.bytes(); }

  /// Between batches: updates the observers' counters and hands over the rows so far.
  void poll() {
    control_.gvt_ticks.store(execution_.now().ticks(), std::memory_order_relaxed);
    control_.committed.store(world_.committed + committed_, std::memory_order_relaxed);
    control_.executed.store(world_.executed + committed_, std::memory_order_relaxed);
    control_.memory_bytes.store(memory_bytes(), std::memory_order_relaxed);
    if (control_.rows != nullptr && !rows_.empty()) {
      control_.rows->commit(0, rows_);
      // Not before the cut, which may lie within an instant.
      control_.rows->advance(0, std::max(Key::start_of(execution_.now()), world_.cut));
    }
  }

  void give_back(RunResult& result) {
    poll();
    result.peak_memory_bytes = memory_bytes();
    memory_.report(result);
    world_.cut = end_;
    world_.committed += committed_;
    world_.executed += committed_;
    if (!is_torn_)
      pending_.drain(
          [this](PlainEvent* event) { world_.pending[0].append(*event, event->payload()); });
    if (control_.rows != nullptr)
      control_.rows->advance(0, std::min(end_, Key::end_of(options_.until)));
  }

  World& world_;
  const Model& model_;
  const RunOptions& options_;
  const Goal& goal_;
  RunControl& control_;
  World::Table& lps_;
  [[no_unique_address]] Memory memory_;  ///< memory of the LPs
  EventDepot depot_;
  EventPool<32, Pools::one> pool_{depot_};
  Pending pending_;
  /// A handler was dropped, perhaps in the middle of a push: the pending events are no longer used.
  /// To keep pushes whole instead, by a mark of two stores as in the other engines, cost 5 % of
  /// PHOLD's rate.
  bool is_torn_ = false;
  Execution<Outbox> execution_;
  std::uint64_t committed_ = 0;
  WithdrawnCount withdrawn_;
  Key end_;                      ///< all events before this key are executed
  std::size_t rows_before_ = 0;  ///< rows before the current event; valid after its first row
  RowBuffer rows_;
  LookAhead<World::Lp> look_ahead_;
};

}  // namespace

void advance_one_by_one(World& world, const RunOptions& options, const Goal& goal,
                        RunControl& control, RunResult& result) {
  using Pending = pending::EngineSet<PlainEvent>;
  if (world.on_heaps()) {
    OneByOne<Pending, HeapMemory>(world, options, goal, control).advance(result);
  } else {
    OneByOne<Pending, OrdinaryMemory>(world, options, goal, control).advance(result);
  }
}

}  // namespace orrery
