// SPDX-License-Identifier: Apache-2.0
//
// A worker: a thread with its LPs, their pending events and everything that was executed and is not
// committed. It executes its events lowest key first, in batches; between batches it takes what
// others sent, publishes what it sends, and takes part in GVT. Only its own thread changes its LPs
// (a copier reads those whose checkpoint is offloaded).
// This file is the loop; its parts are mailbox.h (events on their way), history.h (what may be
// undone), executor.h (handlers), rollback.h (undoing) and commitment.h (what a GVT round brings).
//
// A straggler is noticed when it is popped, not when it arrives: by then it is the lowest event of
// the worker, so a burst of stragglers to one LP costs one rollback, to the lowest of them.
//
// A worker that is alone can receive no straggler: its lowest event is GVT. It executes events as
// committed, with neither history nor checkpoints (`speculative_` is false), unless a strategy or
// offloading is asked for by name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/cycles.h"
#include "engine/timewarp/commitment.h"
#include "engine/timewarp/executor.h"
#include "engine/timewarp/rollback.h"
#include "memory/library_state.h"
#include "run/model_checks.h"
#include "run/waiting.h"

namespace orrery::timewarp {

template <class Pending>
class Worker {
 public:
  Worker(Shared& shared, unsigned index);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// The thread's life: makes and starts its LPs, runs until all workers end.
  void run();

  const Ending& ending() const { return commitment_.ending(); }
  const WorkerStatistics& statistics() const { return statistics_; }
  const LivelockTrail& livelock() const { return executor_.livelock(); }
  const History& history() const { return history_; }
  const FaultList& faults() const { return faults_; }
  /// Whether the states of its LPs exist.
  bool constructed() const { return constructed_; }
  double set_up_seconds() const { return set_up_seconds_; }
  /// Requests of its LPs for memory that were refused, and the size of the last one, if no fault
  /// told it.
  struct Refusals {
    std::uint64_t count = 0, bytes = 0;
  };
  const Refusals& refusals() const { return refusals_; }

 private:
  static constexpr std::uint32_t kBatchEvents = 64;
  static constexpr double kBatchSeconds = 20e-6;
  static constexpr std::uint32_t kPollEventsAlone = 4096;
  static constexpr std::uint64_t kGvtPeriodUs = 2000;
  static constexpr std::uint64_t kGvtEvents = 256;  ///< times the workers

  // Set-up and end (worker_set_up.h).
  bool set_up();
  template <class Action>
  bool set_up_lp(int phase, LpId id, Action&& action);
  void create_lps();
  void start_lps();
  void accept_lps();
  void end_run();

  // The loop.
  void loop();
  void loop_alone();
  std::uint32_t run_batch(Time limit, std::uint32_t most_events);
  void prefetch_upcoming();
  void handle(TwEvent* event);
  void adapt_batch(std::uint32_t executed, std::uint64_t cycles);
  bool drain();

  // Its part in GVT rounds.
  struct RoundHooks;
  bool round_is_due() const;
  bool adopt_round();
  void sweep_cancelled();
  void retreat(Time to);
  void check_places();
  Commitment::Local local();
  std::int64_t memory_bytes() const;

  Shared& shared_;
  const unsigned index_;
  const bool speculative_;
  LpTable& lps_;
  memory::Arena& arena_;
  WorkerStatistics statistics_;
  Mailbox mailbox_;
  FaultList faults_;
  History history_;
  EmittedRows rows_;
  Pending pending_;
  Executor<Pending> executor_;
  Rollback<Pending> rollback_;
  Commitment commitment_;
  transport::RoundMember<GvtRounds> member_;

  bool idle_ = false;
  std::int64_t latest_ticks_ = 0;
  std::uint64_t adopted_cycles_ = 0, adopted_executed_ = 0;  ///< at the last round
  std::uint64_t period_cycles_;
  std::uint64_t period_events_;  ///< own events after which a round is due; 0: by time only
  std::uint32_t batch_events_ = kBatchEvents;
  const std::uint64_t batch_cycles_limit_;
  double event_cycles_ = 0;
  std::vector<TwEvent*> swept_;
  Backoff backoff_;

  bool constructed_ = false;
  double set_up_seconds_ = 0;
  Refusals refusals_;
};

template <class Pending>
Worker<Pending>::Worker(Shared& shared, unsigned index)
    : shared_(shared),
      index_(index),
      speculative_(shared.workers > 1 || shared.settings.offload.on() ||
                   !shared.settings.strategy.automatic()),
      lps_(shared.lps),
      arena_(*shared.arenas[index]),
      mailbox_(index, shared.mesh, shared.owners, shared.depot, arena_, statistics_),
      faults_(shared.model),
      history_(lps_, arena_, shared.settings.strategy, shared.settings.offload,
               shared.copy_queue(index), faults_, statistics_),
      rows_(shared.control.rows != nullptr && !shared.model.tables().empty()),
      executor_(shared.model, shared.options, lps_, faults_,
                {mailbox_, pending_, rows_, history_.undo_log(), speculative_}),
      rollback_(lps_, pending_, mailbox_, history_, executor_, faults_, rows_, statistics_),
      commitment_(shared, index, mailbox_, history_, faults_, rows_, statistics_),
      member_(shared.rounds, index),
      batch_cycles_limit_(static_cast<std::uint64_t>(cycles_per_second() * kBatchSeconds)),
      backoff_(shared.team.crowded()) {
  const bool fixed_period = shared.settings.gvt_period_us > 0;
  const std::uint64_t period_us = fixed_period ? shared.settings.gvt_period_us : kGvtPeriodUs;
  period_events_ = fixed_period ? 0 : kGvtEvents * shared.workers;
  period_cycles_ =
      static_cast<std::uint64_t>(cycles_per_second() * 1e-6 * static_cast<double>(period_us));
}

template <class Pending>
void Worker<Pending>::run() {
  memory::prepare_worker_thread();
  const MisuseWatch watch;
  if (shared_.settings.deny_oversize)
    memory::thread_context.denies_above_bytes = memory::kBlockBytes;
  if (!set_up()) return;
  adopted_cycles_ = read_cycles();
  speculative_ ? loop() : loop_alone();
  if (!shared_.team.failed()) end_run();
}

// ---- The loop

template <class Pending>
void Worker<Pending>::loop() {
  while (!shared_.team.failed()) {
    const bool received = drain();
    if (member_.step(RoundHooks{*this})) return;
    const std::uint64_t start = read_cycles();
    const std::uint32_t executed = run_batch(commitment_.limit(memory_bytes()), batch_events_);
    mailbox_.flush();
    idle_ = executed == 0;
    if (!idle_) {
      adapt_batch(executed, read_cycles() - start);
      backoff_.reset();
    } else if (!received) {
      ++statistics_.idle_polls;
      backoff_.wait();
    }
  }
}

/// The loop of a worker that has no peers.
template <class Pending>
void Worker<Pending>::loop_alone() {
  for (;;) {
    const std::uint32_t executed = run_batch(shared_.options.until, kPollEventsAlone);
    const TwEvent* next = pending_.top();
    const Key gvt = !faults_.empty()  ? faults_.lowest()
                    : next == nullptr ? Key::infinity()
                                      : next->key();
    if (commitment_.adopt_alone(gvt, executed == 0, local())) return;
  }
}

/// Executes events before `limit`; returns how many.
template <class Pending>
std::uint32_t Worker<Pending>::run_batch(Time limit, std::uint32_t most_events) {
  std::uint32_t executed = 0;
  while (executed < most_events) {
    TwEvent* event = pending_.top();
    if (event == nullptr || event->time() >= limit) break;
    pending_.pop();
    prefetch_upcoming();
    latest_ticks_ = std::max(latest_ticks_, event->time().ticks());
    handle(event);
    ++executed;
    if (!speculative_ && !faults_.empty()) [[unlikely]]
      break;
  }
  return executed;
}

/// Brings what the next events need nearer: the LP's state, then what that points to.
template <class Pending>
void Worker<Pending>::prefetch_upcoming() {
  for (const std::size_t distance : {2, 5}) {
    const TwEvent* later = pending_.upcoming(distance);
    if (later == nullptr) continue;
    __builtin_prefetch(&lps_[later->receiver], 1);
    // The pending set asks for an event's first line only.
    __builtin_prefetch(later->payload() + TwEvent::kInlinePayloadBytes);
  }
  for (const std::size_t distance : {0, 2}) {
    if (const TwEvent* soon = pending_.upcoming(distance))
      __builtin_prefetch(lps_[soon->receiver].object, 1);
  }
}

template <class Pending>
void Worker<Pending>::handle(TwEvent* event) {
  LpState& lp = lps_[event->receiver];
  if (faults_.holds(lp, event)) [[unlikely]]
    return;
  if (!speculative_) {
    event->first_sent = nullptr;
    if (!executor_.run(lp, event, false)) return;
    ++statistics_.executed;
    mailbox_.free(event);
    return;
  }
  if (!mailbox_.claim(event)) return;
  if (event->time().ticks() <= lp.last_ticks && event->key() < lp.last()->key()) [[unlikely]]
    rollback_.roll_back(event->receiver, event->key());
  const History::Begun begun = history_.begin(lp, event, mailbox_);
  event->first_sent = nullptr;
  const bool succeeded = executor_.run(lp, event, begun == History::Begun::reversible);
  history_.end(begun, event->receiver, lp, succeeded);
  ++statistics_.executed;
}

/// A batch lasts about kBatchSeconds: long enough to make polling cheap, short enough that what it
/// sends is not late.
template <class Pending>
void Worker<Pending>::adapt_batch(std::uint32_t executed, std::uint64_t cycles) {
  const double each = static_cast<double>(cycles) / executed;
  event_cycles_ = event_cycles_ == 0 ? each : 0.95 * event_cycles_ + 0.05 * each;
  const double fitting = static_cast<double>(batch_cycles_limit_) / std::max(event_cycles_, 1.0);
  batch_events_ = static_cast<std::uint32_t>(std::clamp(fitting, 1.0, double{kBatchEvents}));
}

template <class Pending>
bool Worker<Pending>::drain() {
  return mailbox_.drain(
      [this](TwEvent* event) {
        ORRERY_ASSERT(event->key() >= commitment_.gvt(), "no message comes from before GVT");
        pending_.push(event);
      },
      [this](TwEvent* event) { rollback_.end_cancelled(event); });
}

// ---- GVT

template <class Pending>
struct Worker<Pending>::RoundHooks {
  Worker& worker;
  bool due() { return worker.round_is_due(); }
  void join() { worker.mailbox_.join_round(); }
  GvtReport report() {
    worker.drain();
    const GvtReport report = worker.commitment_.report(worker.local());
    worker.latest_ticks_ = 0;
    return report;
  }
  bool adopt() { return worker.adopt_round(); }
};

/// A round costs a few cache lines from each worker and a walk over the LPs with a history. What it
/// frees is used again while it is still in the cache, so frequent rounds pay: on two cores PHOLD
/// ran at 15 million events/s with a round every 50 us, 10 with 400 us, 7 with 3 ms.
template <class Pending>
bool Worker<Pending>::round_is_due() const {
  const std::uint64_t executed = statistics_.executed - adopted_executed_;
  if (idle_ && executed > 0) return true;  // held up by the window: only GVT helps
  const std::uint64_t elapsed = read_cycles() - adopted_cycles_;
  if (elapsed > period_cycles_ || (idle_ && elapsed > period_cycles_ / 32)) return true;
  return period_events_ > 0 && executed >= period_events_;
}

/// True when the round ends the run.
template <class Pending>
bool Worker<Pending>::adopt_round() {
  const bool ends = commitment_.adopt(local());
  rollback_.set_gvt(commitment_.gvt());
  if (commitment_.must_sweep()) sweep_cancelled();
  if (commitment_.must_retreat()) retreat(commitment_.horizon());
  commitment_.settle(memory_bytes());
  if constexpr (kAssertions) check_places();
  adopted_cycles_ = read_cycles();
  adopted_executed_ = statistics_.executed;
  return ends;
}

/// Frees the cancelled events that still wait for their time. Nobody else refers to them: they were
/// cancelled before they were claimed, so no notice is coming.
template <class Pending>
void Worker<Pending>::sweep_cancelled() {
  pending_.drain([this](TwEvent* event) { swept_.push_back(event); });
  for (TwEvent* event : swept_)
    if (!mailbox_.free_if_cancelled(event)) pending_.push(event);
  swept_.clear();
}

/// Now and then, where assertions are on: no event lies in two places.
template <class Pending>
void Worker<Pending>::check_places() {
  constexpr std::uint64_t kRounds = 512;
  if (statistics_.gvt_rounds % kRounds != 0) return;
  std::unordered_set<const TwEvent*> seen;
  const auto see = [&seen](const TwEvent* event) {
    const bool first_time = seen.insert(event).second;
    ORRERY_ASSERT(first_time, "an event is in one place");
  };
  pending_.drain([this](TwEvent* event) { swept_.push_back(event); });
  for (TwEvent* event : swept_) {
    see(event);
    ORRERY_ASSERT(!Mailbox::is_executed(event), "what is pending is not executed");
    pending_.push(event);
  }
  swept_.clear();
  faults_.for_each_waiting(see);
  for (const LpId id : history_.active()) {
    const LpState& lp = lps_[id];
    for (std::uint32_t i = 0; i < lp.count; ++i) {
      see(lp.history()[i]);
      ORRERY_ASSERT(Mailbox::is_executed(lp.history()[i]), "a history holds executed events");
    }
  }
}

/// Undoes what was executed at or after `to`, to give its memory back.
template <class Pending>
void Worker<Pending>::retreat(Time to) {
  const Key from = Key::start_of(to);
  for (std::size_t i = 0; i < history_.active().size(); ++i) {
    const LpId id = history_.active()[i];
    if (lps_[id].last_ticks < to.ticks()) continue;
    ++statistics_.retreats;
    rollback_.roll_back(id, from);
  }
  history_.trim(mailbox_);
  mailbox_.flush();
}

template <class Pending>
Commitment::Local Worker<Pending>::local() {
  const TwEvent* lowest = pending_.top();
  return {lowest == nullptr ? Key::infinity() : lowest->key(), pending_.size(), memory_bytes(),
          latest_ticks_, event_cycles_};
}

template <class Pending>
std::int64_t Worker<Pending>::memory_bytes() const {
  return static_cast<std::int64_t>(rows_.bytes() + pending_.bytes() + arena_.taken_bytes()) +
         mailbox_.used_bytes() + history_.memory_bytes();
}

}  // namespace orrery::timewarp

#include "engine/timewarp/worker_set_up.h"
