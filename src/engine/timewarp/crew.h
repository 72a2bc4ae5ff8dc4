// SPDX-License-Identifier: Apache-2.0
//
// A thread and the workers that it runs, in turns. There are no more threads than cores: workers
// beyond that share threads instead of competing for cores. The operating system does not schedule
// by virtual time: it would let one worker run ahead for a time slice while the worker that holds
// GVT waits for a core, and each poll of a GVT round would cost a thread switch instead of a
// function call (with 16 workers on two cores a round took 165 us in threads of their own, 20 us in
// turns).
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/assert.h"
#include "core/cycles.h"
#include "engine/timewarp/worker.h"
#include "memory/library_state.h"
#include "run/containment/activity.h"
#include "run/containment/preemption.h"
#include "run/threads/federation.h"
#include "run/threads/waiting.h"
#include "run/world/refusals.h"

namespace orrery::timewarp {

template <class Pending>
class Crew final : Preemptor {
 public:
  using WorkerList = std::vector<Worker<Pending>*>;

  Crew(Shared& shared, unsigned thread, WorkerList workers)
      : shared_(shared),
        thread_(thread),
        workers_(std::move(workers)),
        member_(shared.rounds, thread),
        idleness_(workers_.front()->lane()),
        backoff_(shared.team.crowded()) {}
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// The body of the thread: sets up its workers' LPs, then executes until the run ends.
  void run();

  double set_up_seconds() const { return set_up_seconds_; }
  /// A note for the report if its LPs were refused memory; else empty.
  const std::string& refusal_note() const { return refusal_note_; }
  /// Whether the system has refused the timer that was to interrupt its handlers.
  bool lacks_tick() const { return lacks_tick_; }
  /// Share of the time that ticks take, if the options ask for ticks; measured by the first thread.
  double tick_share() const { return tick_share_; }
  /// A note for the report if the system refused what a Federate needs; else empty.
  const std::string& federation_note() const { return federation_note_; }
  /// A note for the report on a handler that had not returned when the run was stopped; else empty.
  const std::string& unreturned_note() const { return unreturned_note_; }

 private:
  static constexpr unsigned kRoundLooks = 64;
  static constexpr unsigned kLooksBeforeSleep = 3;  ///< where there are other ranks
  // A thread that executes for less than this between two sleeps, on average over kSleeps, spends
  // its time mostly on synchronisation (run/threads/federation.h).
  static constexpr unsigned kSleeps = 64;
  static constexpr double kWorthASleepSeconds = 100e-6;
  static constexpr unsigned kMostInterrupted = 16;
  static constexpr double kRoundWaitSeconds = 5e-6;  ///< while a handler is interrupted
  static constexpr std::uint64_t kRunForLook = 10;   ///< times as long as the look before took
  /// Calls action(worker) for each worker. ThreadWatch shows whose handlers the thread calls.
  template <class Action>
  void for_each(Action&& action) {
    for (Worker<Pending>* worker : workers_) {
      turn_to(*worker);
      action(*worker);
    }
  }
  void turn_to(Worker<Pending>& worker) {
    at_work_ = &worker;
    ThreadWatch::turn_to(worker.execution());
  }
  bool set_up();
  void take_turns();
  void wake_laggards();
  void wake_laggards_in_long_events();
  void deal_with_ranks(bool busy);
  bool may_interrupt() const override;
  bool heeds_tick() override;
  bool is_idle() const override { return idle_; }
  bool look_around(bool has_room) noexcept override;
  void fail();
  std::uint64_t work_within(Worker<Pending>& worker, bool may_execute);
  bool turn_within(Worker<Pending>& worker, bool may_execute);
  bool has_late() const;
  void arm();
  void note_unreturned(const Worker<Pending>& worker);
  bool move_lps();
  struct RoundHooks;
  struct Interruptions;
  struct SharingEnd;
  bool is_federate() const { return federate_.has_value(); }
  void begin_sharing();
  void stop_sharing();
  bool end_step();
  void give_way();
  void wait();
  Time lowest_time();
  double tick_seconds() const;

  Shared& shared_;
  const unsigned thread_;
  const WorkerList workers_;
  transport::RoundMember<GvtRounds> member_;
  unsigned looks_ = 0;  ///< at a round under way, since the last turns
  unsigned idle_turns_ = 0;
  bool idle_ = false;  ///< no worker executed anything in the last turns
  TraceIdleness idleness_;
  Backoff backoff_;
  std::optional<Federate> federate_;    ///< if threads share cores, while it takes turns
  std::uint64_t turn_cycles_ = 0;       ///< of turns in which something was executed
  unsigned sleeps_ = 0;                 ///< since turn_cycles_ was reset
  Worker<Pending>* at_work_ = nullptr;  ///< whose handlers are called
  bool over_ = false;                   ///< the run has ended
  unsigned interrupted_ = 0;            ///< handlers
  std::uint64_t next_look_cycles_ = 0;  ///< no handler is interrupted before this time
  std::uint64_t next_deal_cycles_ = 0;  ///< while there is work, no look at other ranks before this
  std::uint64_t turns_cycles_ = 0;      ///< when turns began last
  std::uint64_t turns_at_tick_ = 0;     ///< turns_cycles_ at the last tick
  std::uint32_t round_looks_ = 0;       ///< while watched_round_ was under way
  std::uint32_t round_wakes_ = 0;
  std::uint64_t watched_round_ = 0, next_ring_cycles_ = 0;
  bool lacks_tick_ = false;
  double tick_share_ = 0;
  std::string unreturned_note_, federation_note_;
  std::exception_ptr error_;  ///< of the platform, while a handler was interrupted
  double set_up_seconds_ = 0;
  std::string refusal_note_;
};

template <class Pending>
void Crew<Pending>::run() {
  memory::prepare_worker_thread();
  const MisuseWatch watch;
  const Refusals refusals;
  const OversizeLimit limit(shared_.settings.deny_oversize);
  const ThreadWatch watched(shared_.control.threads, shared_.model, workers_.front()->execution(),
                            workers_.front()->speculative());
  const Interruptions interruptions(*this);
  if (!set_up()) return;
  for (Worker<Pending>* worker : workers_) worker->begin();
  workers_.front()->speculative() ? take_turns() : workers_.front()->run_alone();
  if (error_) std::rethrow_exception(error_);
  if (shared_.team.failed()) return;
  refusal_note_ = refusals.note(shared_.settings.deny_oversize);
  for_each([](Worker<Pending>& worker) { worker.end_run(); });
}

template <class Pending>
struct Crew<Pending>::SharingEnd {
  Crew& crew;
  ~SharingEnd() { crew.stop_sharing(); }
};

/// While an object exists, the thread's handlers can be interrupted, if the options ask for that.
template <class Pending>
struct Crew<Pending>::Interruptions {
  explicit Interruptions(Crew& crew) {
    if (!crew.shared_.preempts) return;
    preemptible.emplace(static_cast<Preemptor&>(crew), crew.shared_.text, crew.tick_seconds());
    registration.emplace(crew.shared_.waker, crew.thread_);
    crew.lacks_tick_ = preemptible->lacks_tick();
    if (crew.thread_ == 0 && crew.shared_.settings.preempt_tick_seconds > 0)
      crew.tick_share_ = preemptible->tick_share();
  }
  std::optional<Preemptible> preemptible;
  std::optional<ThreadWaker::Registration> registration;
};

/// As a federate the thread announces what its workers send.
template <class Pending>
void Crew<Pending>::begin_sharing() {
  federate_.emplace(shared_.federation, thread_);
  federation_note_ = federate_->refusal();
  if (!federate_->is_on()) return federate_.reset();
  for (Worker<Pending>* worker : workers_) worker->share(&*federate_);
}

/// From now on the thread waits with its Backoff instead.
template <class Pending>
void Crew<Pending>::stop_sharing() {
  for (Worker<Pending>* worker : workers_) worker->share(nullptr);
  federate_.reset();
}

/// The tick, or 0. On demand there is a slow tick, too: all threads may be in handlers that do not
/// end, and then no thread is left to wake (thread_waker.h).
template <class Pending>
double Crew<Pending>::tick_seconds() const {
  constexpr double kBackstopSeconds = 50e-3;
  const Settings& settings = shared_.settings;
  if (settings.preempt_tick_seconds > 0) return settings.preempt_tick_seconds;
  return settings.preempt_on_demand ? kBackstopSeconds : 0;
}

/// False if the set-up has failed on some thread.
template <class Pending>
bool Crew<Pending>::set_up() {
  const std::uint64_t start = read_cycles();
  for_each([](Worker<Pending>& worker) { worker.take_lps(); });
  if (!shared_.team.end_step()) return false;
  for_each([](Worker<Pending>& worker) { worker.accept_lps(); });
  if (!shared_.team.end_step()) return false;
  for_each([](Worker<Pending>& worker) { worker.take_events(); });
  if (workers_.front()->index() == 0) shared_.goal.restart();
  if (!shared_.team.end_step()) return false;
  set_up_seconds_ = seconds_of(read_cycles() - start);
  return true;
}

/// The members of GVT rounds are the threads: each acts for all its workers at once.
template <class Pending>
struct Crew<Pending>::RoundHooks {
  Crew& crew;

  bool due() {
    return std::any_of(crew.workers_.begin(), crew.workers_.end(),
                       [this](auto* worker) { return worker->round_is_due(crew.idle_); });
  }
  void join() {
    for (Worker<Pending>* worker : crew.workers_) worker->join_round();
  }
  bool delivered(std::uint64_t round) {
    const auto& rank_link = crew.shared_.rank_link;
    return !rank_link || rank_link->rounds().delivered(round);
  }
  bool settled(std::uint64_t round) {
    const auto& rank_link = crew.shared_.rank_link;
    return !rank_link || rank_link->rounds().settled(round);
  }
  GvtReport report() {
    GvtReport sum;
    crew.for_each([&sum](Worker<Pending>& worker) { sum.add(worker.report()); });
    sum.most_load = sum.load;
    sum.threads = 1;
    return sum;
  }
  void call_others() {
    if (crew.is_federate()) crew.federate_->call_all();
  }
  bool adopt() {
    const GvtReport sum = crew.shared_.sum_of_reports();
    bool ends = false;
    crew.for_each([&](Worker<Pending>& worker) { ends = worker.adopt(sum); });
    if (!crew.workers_.front()->is_moving()) return ends;
    ORRERY_ASSERT(crew.interrupted_ == 0,
                  "on the way to a cut all that was interrupted is dropped");
    return !crew.move_lps();
  }
};

/// Whether a worker must be called back from a long event.
template <class Pending>
bool Crew<Pending>::has_late() const {
  return std::any_of(workers_.begin(), workers_.end(),
                     [](const Worker<Pending>* worker) { return worker->has_late(); });
}

/// Goes through the steps in moving.h. False if a thread has failed. A rank cannot see whether LPs
/// move on other ranks, so it assumes that they do.
template <class Pending>
bool Crew<Pending>::move_lps() {
  const TraceSpan span(workers_.front()->lane(), TraceKind::moving);
  const bool moves_elsewhere = shared_.rank_link != nullptr;
  if (!workers_.front()->balance().is_on()) {
    for_each([](Worker<Pending>& worker) { worker.end_move(false, true); });
    return true;
  }
  for_each([](Worker<Pending>& worker) { worker.note_load(); });
  if (!end_step()) return false;
  Moving& moving = shared_.moving;
  if (thread_ == 0) {
    moving.decide(shared_.model, shared_.owners, workers_.front()->balance().plan());
    for (const Moving::Lp& lp : moving.lps()) shared_.give_to(lp.id, lp.to);
  }
  if (!end_step()) return false;
  const bool moved = !moving.lps().empty();
  if (moved) {
    for_each([](Worker<Pending>& worker) { worker.hand_out_lps(); });
    if (!end_step()) return false;
    for_each([](Worker<Pending>& worker) { worker.take_moved_lps(); });
  }
  for_each([&](Worker<Pending>& worker) { worker.end_move(moved, moved || moves_elsewhere); });
  return true;
}

/// Waits until all threads have ended the step, in the middle of a run. False if one has failed.
template <class Pending>
bool Crew<Pending>::end_step() {
  const TokenAside aside;
  return shared_.team.end_step();
}

template <class Pending>
Time Crew<Pending>::lowest_time() {
  Key lowest = Key::infinity();
  for (Worker<Pending>* one : workers_) lowest = std::min(lowest, one->lowest_pending());
  return lowest.time();
}

/// Where threads share cores: gives the core to threads with earlier events.
template <class Pending>
void Crew<Pending>::give_way() {
  if (!is_federate()) return;
  federate_->announce();
  federate_->step(lowest_time());
  federate_->look();
}

/// Waits, since there is nothing to execute.
template <class Pending>
void Crew<Pending>::wait() {
  if (!is_federate()) return backoff_.wait();
  // The next looks send what was posted, and advance a round.
  const unsigned looks = shared_.rank_link != nullptr ? kLooksBeforeSleep : 1;
  if (++idle_turns_ < looks) return give_way();
  federate_->announce();
  federate_->wait(lowest_time());
  federate_->look();
  idle_turns_ = 0;
  if (++sleeps_ < kSleeps) return;
  const bool pays = turn_cycles_ > kSleeps * cycles_in(kWorthASleepSeconds);
  sleeps_ = 0;
  turn_cycles_ = 0;
  if (!pays) stop_sharing();
}

template <class Pending>
void Crew<Pending>::take_turns() {
  if (shared_.federation.is_on()) begin_sharing();
  const SharingEnd end{*this};
  while (!over_ && !shared_.team.failed()) {
    deal_with_ranks(!idle_);
    if (member_.step(RoundHooks{*this})) return;
    if (shared_.preempts) {
      turns_cycles_ = read_cycles();
      arm();
      wake_laggards();
    }
    if (idle_ && !is_federate() && member_.in_round() && looks_++ < kRoundLooks) {
      SpinThenYield::
          relax();  // the other threads' step is cheaper to see than a turn of all workers
      continue;
    }
    looks_ = 0;
    bool received = false, executed = false;
    idle_ = false;
    idleness_.at_turn();
    const std::uint64_t start = is_federate() ? read_cycles() : 0;
    for_each([&](Worker<Pending>& worker) {
      if (over_) return;
      const auto turn = worker.turn();
      received |= turn.received;
      executed |= turn.executed;
    });
    idle_ = !executed;
    idleness_.after_turn(idle_);
    if (!idle_) {
      backoff_.reset();
      idle_turns_ = 0;
      if (is_federate()) turn_cycles_ += read_cycles() - start;
      give_way();
    } else if (!received && !has_late()) {
      wait();
    } else {
      give_way();
    }
  }
}

/// Exchanges messages with other ranks, unless another thread is doing so. Where a look costs a
/// system call for each rank, not after each turn.
template <class Pending>
void Crew<Pending>::deal_with_ranks(bool busy) {
  if (shared_.rank_link == nullptr) return;
  constexpr double kLookSeconds = 20e-6, kLookSecondsInRound = 5e-6;
  const std::uint64_t now = read_cycles();
  if (busy && now < next_deal_cycles_) return;
  if (!shared_.rank_link->looks_are_cheap())
    next_deal_cycles_ = now + cycles_in(member_.in_round() ? kLookSecondsInRound : kLookSeconds);
  shared_.rank_link->progress(is_federate() ? &*federate_ : nullptr);
}

// ---- Interrupting

/// Clears the attention byte: the thread is about to look around anyway. With preempt_always, sets
/// it.
template <class Pending>
void Crew<Pending>::arm() {
  if (shared_.settings.preempt_always) {
    memory::ask_attention(memory::kLook);
  } else if (memory::attention_asked(memory::kLook)) {
    memory::end_attention(memory::kLook);
  }
}

/// A handler that has just been interrupted must first make progress. A turn of ordinary length is
/// not interrupted: it ends soon enough, and if a round waited for it, the cause was that the
/// system had taken the core away.
template <class Pending>
bool Crew<Pending>::may_interrupt() const {
  if (!at_work_->may_interrupt()) return false;
  if (shared_.settings.preempt_always) return true;
  constexpr double kTurnSeconds = 30e-6;
  const std::uint64_t now = read_cycles();
  return now >= next_look_cycles_ && now - at_work_->turn_cycles() > cycles_in(kTurnSeconds);
}

/// Without --preempt tick or both, a tick counts only if the same turns have lasted since the tick
/// before.
template <class Pending>
bool Crew<Pending>::heeds_tick() {
  return std::exchange(turns_at_tick_, turns_cycles_) == turns_cycles_ ||
         shared_.settings.preempt_tick_seconds > 0;
}

template <class Pending>
bool Crew<Pending>::look_around(bool has_room) noexcept {
  Worker<Pending>& worker = *at_work_;
  const std::uint64_t start = read_cycles();
  const TraceSpan span(worker.lane(), TraceKind::interrupted);
  arm();
  try {
    worker.make_room_for_interrupt();
  } catch (const std::bad_alloc&) {
    return true;  // without memory for a look it goes on
  }
  ++interrupted_;
  std::uint64_t worked = 0;
  try {
    worker.interrupt();
    worked = work_within(worker, has_room && interrupted_ <= kMostInterrupted);
  } catch (...) {
    fail();
  }
  --interrupted_;
  const std::uint64_t end = read_cycles();
  next_look_cycles_ = end + kRunForLook * (end - start - worked);
  const bool goes_on = worker.go_on(end - start);
  turn_to(worker);
  return goes_on;
}

/// Stores the current exception. It ends the thread once all interrupted handlers are dropped.
template <class Pending>
void Crew<Pending>::fail() {
  error_ = std::current_exception();
  over_ = true;
  for (Worker<Pending>* one : workers_) one->abandon_all();
}

/// Takes part in rounds and executes events before the event of `worker` that was interrupted last,
/// until that event is squashed, or until no event is left and it need not wait for memory.
/// `may_execute`: if false, nothing is executed, and the interrupted event gives way (give_way) to
/// a lower event. Returns the cycles of turns that executed or received something.
template <class Pending>
std::uint64_t Crew<Pending>::work_within(Worker<Pending>& worker, bool may_execute) {
  std::uint64_t worked = 0, waits_since = 0;
  for (;;) {
    const std::uint64_t start = read_cycles();
    const bool busy = turn_within(worker, may_execute);
    if (busy) worked += read_cycles() - start;
    over_ = over_ || shared_.team.failed();
    if (!over_ && worker.is_squashed()) return worked;
    deal_with_ranks(busy);
    over_ = over_ || member_.step(RoundHooks{*this});
    if (over_) break;
    if (worker.is_squashed()) return worked;
    if (busy) {
      waits_since = 0;
      continue;
    }
    give_way();
    if (worker.is_held_for_memory()) {
      wait();
      continue;
    }
    backoff_.reset();
    if (!member_.in_round()) return worked;
    if (waits_since == 0) waits_since = start;
    if (start - waits_since > cycles_in(kRoundWaitSeconds)) {
      if (shared_.settings.preempt_on_demand) wake_laggards_in_long_events();
      return worked;
    }
    SpinThenYield::relax();
  }
  if (!worker.is_squashed()) note_unreturned(worker);
  for (Worker<Pending>* one : workers_) one->squash_all();
  return worked;
}

/// Notes the handler that kept the run busy for over a second when the user stopped it: a user who
/// stops a run that makes no progress wants to know why.
template <class Pending>
void Crew<Pending>::note_unreturned(const Worker<Pending>& worker) {
  constexpr double kLongSeconds = 1;
  if (worker.ending().end != RunEnd::interrupted ||
      read_cycles() - turns_cycles_ < cycles_in(kLongSeconds))
    return;
  ModelCode code;
  code.tick_seconds = shared_.model.tick_seconds();
  worker.interrupted_execution().tell(code);
  unreturned_note_ = describe(code) + ": it had not returned when the run was stopped";
}

/// Whether anything was executed or came in.
template <class Pending>
bool Crew<Pending>::turn_within(Worker<Pending>& worker, bool may_execute) {
  const Key below = may_execute ? worker.interrupted() : Key();
  bool busy = false;
  Key lowest = Key::infinity();
  for (Worker<Pending>* one : workers_) {
    turn_to(*one);
    busy |= one->turn_within(below);
    if (over_ || worker.is_squashed()) return busy;
    lowest = std::min(lowest, one->lowest_pending());
  }
  if (may_execute) return busy;
  turn_to(worker);
  worker.give_way(lowest);
  return busy;
}

/// Rings for threads that hold up a round, since they may be in a long event. A thread that
/// publishes no long event may only have lost its core, so it is woken later, and then less and less
/// often.
template <class Pending>
void Crew<Pending>::wake_laggards() {
  if (!shared_.settings.preempt_on_demand || !member_.in_round()) return;
  if (member_.round() != watched_round_) {
    watched_round_ = member_.round();
    round_looks_ = 0;
    return;
  }
  // Most rounds end before this thread needs to read the clock.
  constexpr std::uint32_t kLooks = 8;
  if (++round_looks_ < kLooks) return;
  const std::uint64_t now = read_cycles();
  if (round_looks_ == kLooks) {
    round_wakes_ = 0;
    next_ring_cycles_ = now + cycles_in(200e-6);
  }
  if (now < next_ring_cycles_) return;
  constexpr std::uint32_t kDoublings = 4;
  const std::uint32_t doublings = std::min(round_wakes_, kDoublings);
  next_ring_cycles_ = now + cycles_in(std::min(1e-3 * (1u << doublings), 10e-3));
  if (round_wakes_++ == 0) return wake_laggards_in_long_events();
  member_.for_each_lagging([this](unsigned thread) { shared_.waker.wake(thread, true); });
}

/// Rings the lagging threads that publish a long event.
template <class Pending>
void Crew<Pending>::wake_laggards_in_long_events() {
  member_.for_each_lagging([this](unsigned thread) {
    if (shared_.waker.publishes(thread)) shared_.waker.wake(thread, true);
  });
}

}  // namespace orrery::timewarp
