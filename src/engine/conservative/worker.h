// SPDX-License-Identifier: Apache-2.0
//
// A worker: its LPs' events in one pending event set, executed in the order of keys as far as they
// are safe. An event is safe if its time is before the *bound*: no message can arrive with a time
// before the bound. The bound is the lowest sum of another worker's promise (board.h) and the
// smallest delay from that worker to this one. A worker promises the lower of its lowest pending
// event's time and its own bound.
//
// Where no event happens for longer than the lookahead, promises rise slowly: each look raises them
// by no more than a delay. A worker that has looked a few times without finding an event to execute
// starts a round (transport/rounds.h), which finds the lowest time of all, so that the bounds rise
// at once. Rounds also commit rows, stop the run and detect its end.
//
// Promises are read when there is nothing more to execute, and made every kEventsAPromise events: a
// cache line of the board then crosses between cores about once a window. A worker with safe events
// waits for no lock and makes no system call, but for those of the transport between ranks. A
// worker without safe events polls the promise that holds it back, yields its core after a while,
// and then sleeps for short times.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/conservative/shared.h"
#include "engine/conservative/statistics.h"
#include "run/execution/execution.h"
#include "run/loop/key_order.h"
#include "run/loop/look_interval.h"
#include "run/loop/plain_events.h"
#include "run/threads/waiting.h"
#include "run/workers/fingerprint_log.h"
#include "run/workers/uncommitted_rows.h"

namespace orrery::conservative {

/// On cache lines of its own, since its members are written all the time.
template <class Pending>
class alignas(64) Worker {
 public:
  Worker(Shared& shared, unsigned index)
      : shared_(shared),
        index_(index),
        until_(shared.end.ticks()),
        arena_(shared.world.on_heaps() ? &shared.world.arena(first_part()) : nullptr),
        owners_(shared.partition.owners()),
        lps_(shared.lps.data()),
        execution_(shared.model, shared.world.promises(), shared.options, Outbox{*this}),
        has_committed_(shared.world.executions().any_committed()),
        rows_(shared.control, shared.model, shared.options, index),
        trail_(shared.options.livelock_microsteps),
        halt_(shared.goal_events),
        member_(shared.rounds, index),
        lane_(lane_of(shared.control.trace, index)),
        backoff_(shared.team.crowded()) {
    execution_.trace_with(shared.control.trace, lane_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  const HandlerExecution& execution() const { return execution_; }
  const WorkerStatistics& statistics() const { return statistics_; }
  const std::optional<HandlerFault>& fault() const { return fault_; }
  const LivelockTrail& trail() const { return trail_; }
  const MergeableStatistics& mergeable_statistics() const { return mergeable_statistics_; }
  /// Events executed by all workers of all ranks, as of the last round.
  std::uint64_t executed_by_all() const { return executed_by_all_; }
  std::uint64_t memory_bytes() const { return events_.bytes() + fingerprint_log_.bytes(); }

  // ---- Steps between periods, each by all workers at once

  void take_lps();
  void take_events();
  void begin_period();
  /// Executes until a halt, and returns how the period ended; nothing if a thread has failed.
  std::optional<Halt::Ending> run_period() {
    return shared_.period.in_place ? run_alone() : run_together();
  }
  void hand_out_events();
  void take_handed_out();
  /// Cycles of handlers since the last period began, by block.
  const std::vector<double>& loads() const { return loads_; }
  /// Commits the period. If it ended with a fault, takes back the events executed behind the fault
  /// and returns how many; else 0.
  std::uint64_t end_period(const Halt::Ending& ending);
  /// Gives this worker's events to the world, unless several workers share a part of the world.
  void give_back();
  void give_events(EventList& list) { events_.give_to(list); }

 private:
  static constexpr int kEventsAPromise = 32;
  static constexpr int kFruitlessLooks = 4;      ///< until a round is due
  static constexpr double kRoundSeconds = 4e-3;  ///< from one round to the next, at most
  static constexpr int kGlances = 300;           ///< polls of a promise before the worker backs off
  static constexpr std::uint64_t kSampleEvents = 16;  ///< one event of so many is measured
  static constexpr double kLongestSampleSeconds = 1e-3;
  static constexpr double kProgressSeconds = 20e-6;  ///< between looks at ranks, if these cost much

  struct Outbox {
    Worker& worker;
    using Modes = OutboxModes<memory::HeapScope, memory::PlatformMode>;
    template <class Payload>
    [[gnu::always_inline]] void send(const EventHeader& header, const Payload& payload) {
      worker.send(header, payload);
    }
    bool takes_rows() const { return worker.rows_.keeps(); }
    void append_row(const Row& row) { worker.rows_.append(row); }
    void observe(const Key&, LpId, const Observation& observation) {
      worker.mergeable_statistics_.add(observation);
    }
  };
  struct RoundHooks;
  /// Counts the events of a period in place when it ends, whether or not by an exception.
  struct InPlaceCount {
    WorkerStatistics& statistics;
    const std::uint64_t before;
    ~InPlaceCount() { statistics.in_place += statistics.executed - before; }
  };

  unsigned first_part() const { return shared_.world.first_part(index_, shared_.workers); }

  // Executing (worker.h).
  std::optional<Halt::Ending> run_alone();
  Halt::Ending end_alone();
  bool execute_alone(std::uint64_t most);
  std::optional<Halt::Ending> run_together();
  void execute_safe(int most);
  template <bool kTogether>
  void handle(PlainEvent* event);
  template <class Batch>
  void run_batch(Batch&& batch);
  [[gnu::noinline]] void fail();
  template <class Payload>
  void send(const EventHeader& header, const Payload& payload);

  // Other ranks (worker_ranks.h).
  template <class Payload>
  [[gnu::noinline]] void send_to_rank(unsigned node, const EventHeader& header,
                                      const Payload& payload);
  void begin_rank_period();
  void deal_with_others(bool executed);
  bool may_execute() const {
    return !shared_.rank_link || !shared_.rank_link->is_short_of_credit();
  }

  // Promises (worker.h).
  void look();
  void promise();
  void wait();
  void receive();
  std::int64_t lowest_ticks() {
    const PlainEvent* const event = events_.top();
    return event == nullptr ? kNever : event->time().ticks();
  }
  std::int64_t stop_ticks() const { return std::min(bound_, until_); }
  bool is_safe(const PlainEvent& event) const {
    return event.time().ticks() < stop_ticks() && (!is_restricted_ || may_begin(event));
  }
  /// Whether the lowest pending event is safe.
  bool has_safe() {
    const PlainEvent* const event = events_.top();
    return event != nullptr && is_safe(*event);
  }
  /// Whether a safe event may be begun.
  [[gnu::noinline]] bool may_begin(const PlainEvent& event) const {
    return event.key() < halt_.limit() && !waits_for_others(event);
  }
  /// Whether the event's LP acts on the outside, and an event before this one may still fail.
  bool waits_for_others(const PlainEvent& event) const {
    return shared_.world.executions().of(event.receiver) == LpExecution::committed &&
           event.key() >= certain_below_;
  }
  bool is_held_up() {
    if (!has_committed_) return false;
    const PlainEvent* const event = events_.top();
    return event != nullptr && event->time().ticks() < stop_ticks() && waits_for_others(*event);
  }

  // Rounds (worker_rounds.h).
  bool round_is_due();
  void set_next_round() { next_round_cycles_ = read_cycles() + cycles_in(kRoundSeconds); }
  void join_round();
  Report report();
  bool adopt();
  Report sum_of_all() const;
  const Report& report_of_node(unsigned node) const;
  void raise_bound();
  Key certainty(const Report& sum) const;
  void commit(const Key& gvt);
  void show(const Key& reached, std::uint64_t executed, std::uint64_t memory_bytes);

  Shared& shared_;
  const unsigned index_;
  const std::int64_t until_;
  memory::Arena* const arena_;
  const std::uint16_t* const owners_;
  LpRecord* const lps_;
  loop::PlainEvents<Pending, LpRecord, EventPool<64>> events_{shared_.depot};
  Execution<Outbox> execution_;

  std::int64_t bound_ = 0;     ///< events before it are safe
  std::int64_t promised_ = 0;  ///< this worker's last promise
  unsigned held_back_by_ = 0;  ///< the node whose promise the bound comes from
  int fruitless_ = 0;          ///< looks in a row that raised the bound but made no event safe
  bool holds_ = false;
  const bool has_committed_;    ///< some LP of the model acts on the outside
  bool is_restricted_ = false;  ///< may_begin decides about safe events
  Key certain_below_;           ///< the other workers' events below it are executed, without faults
  std::optional<HandlerFault> fault_;

  // The round under way.
  Key lowest_at_join_ = Key::infinity();
  std::int64_t begins_at_join_ = kNever;
  std::uint64_t next_round_cycles_ = 0;
  std::uint64_t round_cycles_ = 0, executed_by_all_ = 0;       ///< at the last round
  std::uint64_t executed_before_ = 0, executed_at_round_ = 0;  ///< at period begin; at last round
  std::uint64_t received_ = 0;
  bool fault_is_told_ = false;

  FingerprintLog fingerprint_log_;
  UncommittedRows rows_;
  MergeableStatistics mergeable_statistics_{shared_.model};
  LivelockTrail trail_;
  std::int64_t promised_to_ranks_ = 0;
  std::uint64_t next_progress_cycles_ = 0;
  std::uint64_t sample_ = 0;
  /// Limit of a measured event: a longer one was interrupted by the system, or is rare.
  const std::uint64_t longest_sample_ = cycles_in(kLongestSampleSeconds);
  std::vector<double> loads_;
  WorkerStatistics statistics_;

  Halt halt_;
  transport::RoundMember<Rounds> member_;
  TraceLane* const lane_;  ///< null: the run is not traced
  Backoff backoff_;
};

// ---- Between periods

/// Fills an equal share of the LP records, no matter which workers will own these LPs.
template <class Pending>
void Worker<Pending>::take_lps() {
  const std::uint64_t lps = shared_.lps.size();
  const auto end = static_cast<LpId>((index_ + 1) * lps / shared_.workers);
  for (auto id = static_cast<LpId>(index_ * lps / shared_.workers); id < end; ++id)
    if (shared_.world.is_here(id)) lps_[id] = LpRecord::of(shared_.world, id);
}

/// Takes the events of this worker's parts of the world. Some may be for LPs of other workers.
template <class Pending>
void Worker<Pending>::take_events() {
  const unsigned parts = shared_.world.parts();
  for (unsigned part = 0; part < parts; ++part) {
    if (shared_.world.worker_of(part, shared_.workers) != index_) continue;
    shared_.world.pending[part].take_all([this](const EventHeader& header, const void* payload) {
      const unsigned owner = owners_[header.receiver];
      if (owner >= shared_.workers) return send_to_rank(owner, header, payload);
      PlainEvent* const event = events_.make(header, payload);
      owner == index_ ? events_.push(event) : shared_.handed_out[index_][owner].push_back(event);
    });
  }
}

template <class Pending>
void Worker<Pending>::hand_out_events() {
  std::vector<PlainEvent*> stay;
  events_.drain([&](PlainEvent* event) {
    const unsigned owner = owners_[event->receiver];
    owner == index_ ? stay.push_back(event) : shared_.handed_out[index_][owner].push_back(event);
  });
  for (PlainEvent* event : stay) events_.push(event);
}

template <class Pending>
std::uint64_t Worker<Pending>::end_period(const Halt::Ending& ending) {
  const std::uint64_t taken_back =
      ending.end == RunEnd::fault ? fingerprint_log_.take_back(ending.cut, lps_) : 0;
  commit(ending.cut);
  ++statistics_.halts;
  return taken_back;
}

template <class Pending>
void Worker<Pending>::give_back() {
  if (shared_.world.parts() >= shared_.workers) give_events(shared_.world.pending[first_part()]);
}

template <class Pending>
void Worker<Pending>::take_handed_out() {
  for (auto& lists : shared_.handed_out) {
    for (PlainEvent* event : lists[index_]) events_.push(event);
    std::vector<PlainEvent*>().swap(lists[index_]);
  }
}

/// Resets the promises: no worker reads the board before the step ends.
template <class Pending>
void Worker<Pending>::begin_period() {
  halt_.begin(shared_.period.begin);
  bound_ = promised_ = shared_.period.begin.time().ticks();
  shared_.board.promise(index_, promised_);
  if (shared_.rank_link) begin_rank_period();
  held_back_by_ = index_ == 0 ? shared_.partition.nodes() - 1 : 0;
  fruitless_ = 0;
  holds_ = false;
  is_restricted_ = has_committed_;
  certain_below_ = shared_.period.begin;
  loads_.assign(shared_.partition.blocks(), 0.0);
  executed_before_ = executed_at_round_ = statistics_.executed;
  set_next_round();
}

// ---- Executing

template <class Pending>
template <class Payload>
[[gnu::always_inline]] inline void Worker<Pending>::send(const EventHeader& header,
                                                         const Payload& payload) {
  const unsigned owner = owners_[header.receiver];
  if (owner >= shared_.workers) [[unlikely]]
    return send_to_rank(owner, header, payload);
  PlainEvent* const event = events_.make(header, payload);
  if (owner == index_) [[likely]] {
    events_.push(event);
    return;
  }
  const memory::PlatformMode platform;  // a full ring's queue grows
  shared_.mesh.ring(index_, owner).push({event});
  ++statistics_.sent;
}

/// `kTogether`: all workers execute. Then the event may be behind a fault that is not known yet, so
/// it is entered in the log.
template <class Pending>
template <bool kTogether>
[[gnu::always_inline]] inline void Worker<Pending>::handle(PlainEvent* event) {
  LpRecord* const lp = events_.begin(event, lps_, execution_);
  if (lp == nullptr) return;
  const std::uint64_t hash_before = lp->kernel.hash;
  if (!lp->call_part(
          arena_, [this] { execution_.call(); }, [this] { fail(); })) [[unlikely]]
    return;
  execution_.end(lp->kernel);
  ++statistics_.executed;
  if constexpr (kTogether) {
    fingerprint_log_.add(event->key(), event->receiver, hash_before);
  } else {
    trail_.note(event->key(), event->receiver);
  }
  events_.release(event);
}

/// Notes the current exception as a fault. Events that the handler sent to other workers stay
/// there: they come after the fault, so they are never executed.
template <class Pending>
void Worker<Pending>::fail() {
  fault_ = HandlerFault{execution_.cause(), execution_.self(), execution_.describe_failure()};
  rows_.drop_last(execution_.rows());
}

/// Calls `batch`, which executes events. If a handler crashes, its event fails and is the last.
template <class Pending>
template <class Batch>
void Worker<Pending>::run_batch(Batch&& batch) {
  if (!recoverable(batch)) [[unlikely]]
    end_dropped_call([this] { fail(); });
}

/// Executes up to `most` safe events. One of kSampleEvents is measured, for its block's load.
template <class Pending>
void Worker<Pending>::execute_safe(int most) {
  int executed = 0;
  loop::execute_in_order(
      events_, executed, [&] { return executed < most && !fault_; },
      [this](const PlainEvent& event) { return is_safe(event); },
      [this](PlainEvent* event) {
        if (++sample_ % kSampleEvents != 0) [[likely]]
          return handle<true>(event);
        const unsigned block = shared_.partition.block_of(event->receiver);
        const std::uint64_t start = read_cycles();
        handle<true>(event);
        loads_[block] += static_cast<double>(std::min(read_cycles() - start, longest_sample_));
      });
}

template <class Pending>
std::optional<Halt::Ending> Worker<Pending>::run_together() {
  TraceIdleness idleness(lane_);
  while (!shared_.team.failed()) {
    if (member_.step(RoundHooks{*this})) return halt_.ending();
    bool executed = false;
    idleness.at_turn();
    if (!fault_ && !holds_ && may_execute()) {
      if (!has_safe()) look();
      if (member_.in_round() && has_safe())
        lowest_at_join_ = std::min(lowest_at_join_, events_.top()->key());
      executed = has_safe();
      if (executed) run_batch([this] { execute_safe(kEventsAPromise); });
    } else {
      receive();
    }
    promise();
    if (shared_.rank_link) deal_with_others(executed);
    idleness.after_turn(!executed);
    if (executed) {
      fruitless_ = 0;
      backoff_.reset();
      events_.reclaim_if_many(execution_.cancelled_timers(), lps_);
    } else {
      wait();
    }
  }
  return std::nullopt;
}

/// A period in place: executes as the sequential engine does, with all LPs.
template <class Pending>
std::optional<Halt::Ending> Worker<Pending>::run_alone() {
  const Shared::Period& period = shared_.period;
  const TraceSpan span(lane_, TraceKind::block, period.begin.time().ticks(), 0, "in place");
  const std::uint64_t before = statistics_.executed;
  const auto executed = [&] { return period.executed + statistics_.executed - before; };
  const InPlaceCount count{statistics_, before};
  for (LookInterval interval;; interval.look()) {
    const std::uint64_t most = std::min(shared_.goal.until_look(executed(), interval.events()),
                                        period.end_events - executed());
    bool is_at_end = false;
    run_batch([&] { is_at_end = execute_alone(most); });
    if (is_at_end || fault_) {
      const Halt::Ending end = fault_ ? Halt::Ending{RunEnd::fault, fault_->key} : end_alone();
      show(end.cut, executed(), memory_bytes());
      return end;
    }
    const Key reached = std::max(period.begin, execution_.cause().next());
    show(reached, executed(), memory_bytes());
    commit(reached);
    events_.reclaim_if_many(execution_.cancelled_timers(), lps_);
    std::optional<RunEnd> end;
    if (shared_.control.stop_requested.load(std::memory_order_relaxed)) {
      end = RunEnd::interrupted;
    } else if (shared_.goal.reached_for_good(executed(), events_.size())) {
      end = RunEnd::paused;
    } else if (read_cycles() < period.end_cycles && executed() < period.end_events) {
      continue;
    }
    return Halt::Ending{end, reached};
  }
}

/// How a period in place ends when no events are left: none at all, or none before a pause.
template <class Pending>
Halt::Ending Worker<Pending>::end_alone() {
  const PlainEvent* const next = events_.top();
  if (next == nullptr || next->time() >= shared_.options.until)
    return {RunEnd::completed, Key::infinity()};
  return {RunEnd::paused, Key::start_of(shared_.end)};
}

/// Executes up to `most` events; true if there are no more.
template <class Pending>
bool Worker<Pending>::execute_alone(std::uint64_t most) {
  std::uint64_t executed = 0;
  return !loop::execute_in_order(
      events_, executed, [&] { return executed < most && !fault_; },
      [this](const PlainEvent& event) { return event.time().ticks() < until_; },
      [this](PlainEvent* event) { handle<false>(event); });
}

// ---- Promises

template <class Pending>
void Worker<Pending>::receive() {
  const auto take = [this](Message message) { events_.push(message.event); };
  received_ += shared_.mesh.drain(index_, take);
  if (shared_.rank_link) received_ += shared_.rank_link->drain(index_, take);
}

/// Reads the others' promises, then receives what they have sent; board.h explains this order.
template <class Pending>
void Worker<Pending>::look() {
  ++statistics_.looks;
  const Lookaheads& lookaheads = shared_.partition.lookaheads();
  std::int64_t lowest = kNever;
  for (unsigned other = 0; other < lookaheads.parts(); ++other) {
    const std::int64_t delay = lookaheads.direct(other, index_);
    if (delay == kNever || other == index_) continue;
    const std::int64_t bound = after(shared_.board.promised(other), delay);
    if (bound >= lowest) continue;
    lowest = bound;
    held_back_by_ = other;
  }
  receive();
  const bool raised = lowest > bound_;
  if (raised) bound_ = lowest;
  if (has_safe()) return;
  ++statistics_.waits;
  fruitless_ += raised ? 1 : 0;
}

/// Raises this worker's promise if possible. Publishes its messages first.
template <class Pending>
void Worker<Pending>::promise() {
  auto& mesh = shared_.mesh;
  mesh.flush(index_);
  const std::int64_t ticks = fault_ ? fault_->key.time().ticks() : std::min(lowest_ticks(), bound_);
  if (ticks <= promised_) return;
  bool waits = false;
  mesh.for_each_waiting(index_, [&](const Message&) { waits = true; });
  if (waits) return;
  promised_ = ticks;
  shared_.board.promise(index_, ticks);
}

/// Waits for the promise that holds this worker back, or for a round to go on.
template <class Pending>
void Worker<Pending>::wait() {
  if (!shared_.team.crowded() && !holds_ && !fault_ && held_back_by_ < shared_.workers) {
    const std::int64_t seen = shared_.board.glance(held_back_by_);
    const std::uint64_t round = shared_.rounds.round();
    for (int i = 0; i < kGlances; ++i) {
      if (shared_.board.glance(held_back_by_) != seen) return;
      if (member_.in_round() || shared_.rounds.round() != round) break;
      SpinThenYield::relax();
    }
  }
  backoff_.wait();
}

}  // namespace orrery::conservative

#include "engine/conservative/worker_ranks.h"
#include "engine/conservative/worker_rounds.h"
