// SPDX-License-Identifier: Apache-2.0
//
// The event loop of a worker of an engine that executes each event once. It has everything that an
// event leaves: sends, rows, observations, a fault. An event of another worker with a lower key may
// still fail, and then the run ends at that key. So effects are kept until `commit` says that all
// events before a key are executed and have not failed.
//
// The events lie in a set of the worker's own, or, where sets go from worker to worker, in the set
// that the worker has at the moment (`work_on`).
//
// The engine decides which events may be executed when, and supplies the exchange of events:
//   Record                          of an LP: LpEntry, or LpTable::Line
//   lps(World&)                     the records, by LP
//   unsigned owners() const         numbers of sets on this rank; a worker's own set has its number
//   EventDepot& depot()
//   unsigned owner(LpId) const      the set of an LP, or a number from owners() on, which stands for
//                                   another rank
//   void hand(unsigned from, unsigned owner, PlainEvent*)                 for another set
//   void send(unsigned from, unsigned owner, header, payload)             for another rank
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
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

/// The events of some LPs, of which one worker at a time has the set.
template <class Record>
struct LoopSet {
  using Events = loop::PlainEvents<pending::EngineSet<PlainEvent>, Record, loop::PoolOfThread>;

  std::size_t bytes() const { return events.bytes() + log.bytes(); }

  Events events;  ///< pending
  FingerprintLog log;
  std::uint64_t cancelled = 0;  ///< timers, by handlers of these LPs
};

/// On cache lines of its own, since its members are written all the time.
template <class Exchange>
class alignas(64) EventLoop {
 public:
  using Set = LoopSet<typename Exchange::Record>;

  EventLoop(World& world, const RunOptions& options, RunControl& control, Exchange& exchange,
            unsigned worker)
      : world_(world),
        control_(control),
        exchange_(exchange),
        lps_(exchange.lps(world)),
        worker_(worker),
        owner_(worker),
        arena_(world.on_heaps() ? &world.arena(first_part()) : nullptr),
        execution_(world.model(), world.promises(), options, Outbox{*this}),
        rows_(control, world.model(), options, worker),
        trail_(options.livelock_microsteps) {
    execution_.trace_with(control.trace, lane_of(control.trace, worker));
    own_.events.use(loop::PoolOfThread(&pool_));
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
  /// From now on executes the events of this set, whose number is `owner`.
  void work_on(Set& set, unsigned owner) {
    set.events.use(loop::PoolOfThread(&pool_));
    set_ = &set;
    owner_ = owner;
    has_failed_here_ = false;
    cancelled_before_ = execution_.cancelled_timers();
  }
  /// Takes the pending events of the worker's parts of the world. Events for a set that is
  /// set_of(owner) go there, if it is not null, and others to the exchange.
  template <class SetOf>
  void take_events(SetOf&& set_of) {
    for (unsigned part = 0; part < world_.parts(); ++part)
      if (world_.worker_of(part, exchange_.workers()) == worker_)
        world_.pending[part].take_all([&](const EventHeader& header, const void* payload) {
          const unsigned owner = exchange_.owner(header.receiver);
          Set* const set = owner < exchange_.owners() ? set_of(owner) : nullptr;
          if (set == nullptr) return pass_on(owner, header, payload);
          set->events.use(loop::PoolOfThread(&pool_));
          set->events.push(header, payload);
        });
  }
  /// The same for a worker with a set of its own.
  void take_events() {
    take_events([this](unsigned owner) { return owner == worker_ ? &own_ : nullptr; });
  }
  /// For an event from another worker.
  void push(PlainEvent* event) { set_->events.push(event); }
  /// Executes events in the order of their keys, as long as `may_begin(event)` holds for the next
  /// one, for a few milliseconds at most. Executes nothing after a fault.
  template <class MayBegin>
  void execute(MayBegin&& may_begin) {
    step([&] { execute_some(may_begin); });
    reclaim();
  }
  /// Calls `work`, which calls execute_some for some sets; these execute `most` events together at
  /// most. After a crash of a handler calls it again.
  template <class Work>
  void step(Work&& work, std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
    interval_.begin();
    begun_ = 0;
    most_ = std::min(most, interval_.events());
    // A crash leaves `work` by a jump.
    while (!recoverable(work)) [[unlikely]] end_dropped_call([this] { note_fault(); });
    highest_ = std::max(highest_, execution_.cause());
    interval_.look();
  }
  /// The same as `execute`, within `step`.
  template <class MayBegin>
  [[gnu::always_inline]] void execute_some(MayBegin&& may_begin) {
    loop::execute_in_order(
        set_->events, begun_, [this] { return begun_ < most_ && !has_failed_here_; },
        may_begin, [this](PlainEvent * event) __attribute__((always_inline)) { handle(event); });
    highest_ = std::max(highest_, execution_.cause());
  }
  /// Frees cancelled timers of the current set, if they are many.
  void reclaim() {
    set_->cancelled += execution_.cancelled_timers() - cancelled_before_;
    cancelled_before_ = execution_.cancelled_timers();
    set_->events.reclaim_if_many(set_->cancelled, lps_);
  }
  /// The lowest key of the events that are not executed, or of the one that failed.
  Key lowest() {
    if (fault_) return fault_->key;
    const PlainEvent* const event = set_->events.top();
    return event == nullptr ? Key::infinity() : event->key();
  }
  /// Everything before `until` is executed and has not failed.
  void commit(const Key& until) {
    forget(*set_, until);
    commit_rows(until);
  }
  void forget(Set& set, const Key& until) { set.log.forget(until, trail_); }
  void commit_rows(const Key& until) { rows_.commit(until); }
  /// Takes back what was executed behind a fault, commits up to the cut, and returns the pending
  /// events to the world.
  void end(RunEnd end, const Key& cut) {
    this->end(own_, end, cut, world_.pending[first_part()]);
    commit_rows(cut);
  }
  /// The same for one set, without rows.
  void end(Set& set, RunEnd end, const Key& cut, EventList& list) {
    if (end == RunEnd::fault) taken_back_ += set.log.take_back(cut, lps_);
    forget(set, cut);
    set.events.give_to(list);
  }

  // ---- By the worker's thread, or after it has ended

  bool has_failed() const { return fault_.has_value(); }
  /// Whether an event of the current set has failed since work_on().
  bool has_failed_here() const { return has_failed_here_; }
  const std::optional<HandlerFault>& fault() const { return fault_; }
  /// The highest key of the events that were begun.
  const Key& highest() const { return highest_; }
  /// Number of events executed, and how many of them were taken back.
  std::uint64_t executed() const { return executed_; }
  std::uint64_t taken_back() const { return taken_back_; }
  std::size_t pending() const { return own_.events.size(); }
  std::uint64_t memory_bytes() const { return own_.bytes() + rows_.bytes(); }
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
    if (owner == owner_) [[likely]]
      return set_->events.push(header, payload);
    // pass_on takes an address. Without a copy the header would be built in memory in both cases, in
    // words, and read back in wider ones, for which the processor waits.
    const EventHeader copy(header);
    pass_on(owner, copy, payload);
  }
  template <class Payload>
  void pass_on(unsigned owner, const EventHeader& header, const Payload& payload) {
    const memory::PlatformMode platform;
    if (owner < exchange_.owners()) {
      exchange_.hand(worker_, owner, set_->events.make(header, payload));
    } else {
      exchange_.send(worker_, owner, header, payload);
    }
  }
  [[gnu::always_inline]] void handle(PlainEvent* event) {
    typename Exchange::Record* const lp = set_->events.begin(event, lps_, execution_);
    if (lp == nullptr) return;
    const std::uint64_t hash_before = lp->kernel.hash;
    if (!call(event->receiver)) [[unlikely]]
      return;
    execution_.end(lp->kernel);
    ++executed_;
    set_->log.add(event->key(), event->receiver, hash_before);
    set_->events.release(event);
  }
  /// Calls the handler in the memory of its LP. False if it failed.
  [[gnu::always_inline]] bool call(LpId id) {
    const auto action = [this]() __attribute__((always_inline)) {
      execution_.call();
    };
    const auto on_failure = [this] { note_fault(); };
    if (arena_ == nullptr) return guarded_part(action, on_failure);
    world_.heap(id).use_arena(*arena_);
    return guarded_part(world_.heap(id), action, on_failure);
  }
  /// Notes the exception that is being handled. Events that the handler has sent to other workers
  /// stay there: they come after the fault, so they are never executed.
  [[gnu::noinline]] void note_fault() {
    has_failed_here_ = true;
    fault_ = HandlerFault{execution_.cause(), execution_.self(), execution_.describe_failure()};
    rows_.drop_last(execution_.rows());
  }

  World& world_;
  RunControl& control_;
  Exchange& exchange_;
  decltype(std::declval<Exchange&>().lps(std::declval<World&>())) lps_;
  const unsigned worker_;
  unsigned owner_;              ///< number of the current set
  memory::Arena* const arena_;  ///< of this worker; null: LPs lie in ordinary memory
  EventPool<64> pool_{exchange_.depot()};
  Set own_;
  Set* set_ = &own_;
  Execution<Outbox> execution_;
  LookInterval interval_{32768};
  std::uint64_t begun_ = 0, most_ = 0;  ///< events, in this step
  std::uint64_t cancelled_before_ = 0;  ///< timers, by handlers of other sets
  bool has_failed_here_ = false;        ///< an event of the current set
  std::uint64_t executed_ = 0, taken_back_ = 0;
  UncommittedRows rows_;
  MergeableStatistics mergeable_statistics_{world_.model()};
  LivelockTrail trail_;
  Key highest_;
  std::optional<HandlerFault> fault_;
  std::string note_;
};

}  // namespace orrery
