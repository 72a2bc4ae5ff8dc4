// SPDX-License-Identifier: Apache-2.0
#include "run/loop/one_by_one.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/model_stack.h"
#include "pending/engine_set.h"
#include "run/clock.h"
#include "run/execution/execution.h"
#include "run/loop/key_order.h"
#include "run/loop/look_interval.h"
#include "run/loop/lp_memory.h"
#include "run/loop/plain_events.h"

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
        lps_(world.lps().data<Record>()),
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
      list.take_all([this](const EventHeader& header, const void* payload) {
        events_.push(header, payload);
      });
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
      result.fault = report.text(world_.model());
      if (execution_.rows() > 0) rows_.return_to(rows_before_);
    }
    result.loop_seconds += watch.lap();
    give_back(result);
  }

 private:
  using Record = typename Memory::Record;
  /// Sends go into the pending event set; rows are final.
  struct Outbox {
    OneByOne& run;
    using Modes = OutboxModes<HandlersMode, typename Memory::Platform>;
    template <class Payload>
    void send(const EventHeader& header, const Payload& payload) {
      run.events_.push(header, payload);
    }
    bool takes_rows() const { return run.control_.rows != nullptr; }
    void append_row(const Row& row) { run.append_row(row); }
    void observe(const Key&, LpId, const Observation& observation) {
      run.world_.mergeable_statistics.add(observation);
    }
  };

  RunEnd loop() {
    const Time until = goal_.end(options_);
    LookInterval interval;
    for (GoalWatch goal(goal_);; interval.look()) {
      const std::uint64_t most = goal.until_look(committed_, interval.events());
      std::uint64_t executed = 0;
      if (!loop::execute_in_order(
              events_, executed, [&] { return executed < most; },
              [until](const PlainEvent& event) { return event.time() < until; },
              [this](PlainEvent* event) { handle(event); }))
        return end_of(events_.top());
      end_ = std::max(end_, execution_.cause().next());
      poll();
      events_.reclaim_if_many(execution_.cancelled_timers(), lps_);
      if (control_.stop_requested.load(std::memory_order_relaxed)) return RunEnd::interrupted;
      if (goal.reached_for_good(committed_, events_.size())) return RunEnd::paused;
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
    Record* const lp = events_.begin(event, lps_, execution_, memory_.look_ahead());
    if (lp == nullptr) return;
    world_.trail.note(event->key(), event->receiver);
    memory_.call(event->receiver, [this] { execution_.call(); });
    execution_.end(lp->kernel);
    ++committed_;
    events_.release(event);
  }

  void append_row(const Row& row) {
    if (row.ordinal == 0) rows_before_ = rows_.mark();
    rows_.append(row);
  }

  std::uint64_t memory_bytes() const { return depot_.slab_bytes() + events_.bytes(); }

  /// Between batches: updates the observers' counters and hands over the rows so far.
  void poll() {
    control_.publish(execution_.now(), world_.committed + committed_, world_.executed + committed_,
                     memory_bytes());
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
      events_.drain([this](PlainEvent* event) { world_.append_pending(*event, event->payload()); });
    if (control_.rows != nullptr)
      control_.rows->advance(0, std::min(end_, Key::end_of(options_.until)));
  }

  World& world_;
  const Model& model_;
  const RunOptions& options_;
  const Goal& goal_;
  RunControl& control_;
  Record* const lps_;
  [[no_unique_address]] Memory memory_;  ///< memory of the LPs
  EventDepot depot_;
  loop::PlainEvents<Pending, Record, EventPool<32, Pools::one>> events_{depot_};
  /// A handler was dropped, perhaps in the middle of a push: the pending events are no longer used.
  /// To keep pushes whole instead, by a mark of two stores as in the other engines, cost 5 % of
  /// PHOLD's rate.
  bool is_torn_ = false;
  Execution<Outbox> execution_;
  std::uint64_t committed_ = 0;
  Key end_;                      ///< all events before this key are executed
  std::size_t rows_before_ = 0;  ///< rows before the current event; valid after its first row
  RowBuffer rows_;
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
