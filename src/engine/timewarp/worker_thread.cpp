// SPDX-License-Identifier: Apache-2.0
#include "engine/timewarp/worker_thread.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

namespace orrery::timewarp {

/// While an object exists, the thread's handlers can be interrupted, if the options ask for that.
struct WorkerThread::Interruptions {
  explicit Interruptions(WorkerThread& thread) {
    if (!thread.shared_.preempts) return;
    const unsigned index = thread.worker_.index();
    preemptible.emplace(static_cast<Preemptor&>(thread), thread.shared_.text,
                        thread.tick_seconds());
    registration.emplace(thread.shared_.waker, index);
    if (preemptible->lacks_tick())
      thread.notes_.emplace_back("the system refused a timer, so ticks interrupted no handler");
    if (index == 0 && thread.shared_.settings.preempt_tick_seconds > 0) note_cost(thread.notes_);
  }
  /// Notes what ticks cost, if it is much.
  void note_cost(std::vector<std::string>& notes) {
    constexpr double kMuch = 0.01;
    if (const double share = preemptible->tick_share(); share > kMuch)
      notes.push_back(
          fmt::format("ticks take {:.0f} % of the time on this machine; a longer --tick costs less",
                      100 * share));
  }
  std::optional<Preemptible> preemptible;
  std::optional<ThreadWaker::Registration> registration;
};

void WorkerThread::run() {
  const HandlerThread thread(shared_.world, shared_.control, worker_.execution(), true);
  Interruptions interruptions(*this);
  if (!set_up()) return;
  worker_.begin();
  take_turns();
  if (error_) std::rethrow_exception(error_);
  if (shared_.team.failed()) return;
  for (const std::string& note : {sharing_.note(), thread.note()})
    if (!note.empty()) notes_.push_back(note);
  worker_.end_run();
}

/// The tick, or 0. On demand there is a slow tick, too: all threads may be in handlers that do not
/// end, and then no thread is left to wake them (thread_waker.h).
double WorkerThread::tick_seconds() const {
  constexpr double kBackstopSeconds = 50e-3;
  const Settings& settings = shared_.settings;
  if (settings.preempt_tick_seconds > 0) return settings.preempt_tick_seconds;
  return settings.preempt_on_demand ? kBackstopSeconds : 0;
}

/// False if the set-up has failed on some thread.
bool WorkerThread::set_up() {
  const std::uint64_t start = read_cycles();
  worker_.take_lps();
  if (!shared_.team.end_step()) return false;
  worker_.accept_lps();
  if (!shared_.team.end_step()) return false;
  worker_.take_events();
  if (worker_.index() == 0) shared_.goal.restart();
  if (!shared_.team.end_step()) return false;
  set_up_seconds_ = seconds_of(read_cycles() - start);
  return true;
}

struct WorkerThread::RoundHooks {
  WorkerThread& thread;

  bool due() { return thread.worker_.round_is_due(thread.idle_); }
  void join() { thread.worker_.join_round(); }
  bool delivered(std::uint64_t round) {
    const auto& rank_link = thread.shared_.rank_link;
    return !rank_link || rank_link->rounds().delivered(round);
  }
  bool settled(std::uint64_t round) {
    const auto& rank_link = thread.shared_.rank_link;
    return !rank_link || rank_link->rounds().settled(round);
  }
  GvtReport report() { return thread.worker_.report(); }
  void call_others() {
    if (Federate* const federate = thread.sharing_.federate()) federate->call_all();
  }
  bool adopt() {
    const bool ends = thread.worker_.adopt(thread.shared_.sum_of_reports());
    if (!thread.worker_.is_moving()) return ends;
    ORRERY_ASSERT(thread.interrupted_ == 0,
                  "on the way to a cut all that was interrupted is dropped");
    return !thread.move_lps();
  }
};

/// Goes through the steps in moving.h. False if a thread has failed. A rank cannot see whether LPs
/// move on other ranks, so it assumes that they do.
bool WorkerThread::move_lps() {
  const TraceSpan span(worker_.lane(), TraceKind::moving);
  const bool moves_elsewhere = shared_.rank_link != nullptr;
  if (!worker_.balance().is_on()) {
    worker_.end_move(false, true);
    return true;
  }
  worker_.note_load();
  if (!end_step()) return false;
  Moving& moving = shared_.moving;
  if (worker_.index() == 0) {
    moving.decide(shared_.model, shared_.owners, worker_.balance().plan());
    for (const Moving::Lp& lp : moving.lps()) shared_.give_to(lp.id, lp.to);
  }
  if (!end_step()) return false;
  const bool moved = !moving.lps().empty();
  if (moved) {
    worker_.hand_out_lps();
    if (!end_step()) return false;
    worker_.take_moved_lps();
  }
  worker_.end_move(moved, moved || moves_elsewhere);
  return true;
}

/// Waits until all threads have ended the step, in the middle of a run. False if one has failed.
bool WorkerThread::end_step() {
  const TokenAside aside;
  return shared_.team.end_step();
}

void WorkerThread::take_turns() {
  const CoreSharing::Membership membership(sharing_);
  while (!over_ && !shared_.team.failed()) {
    deal_with_ranks(!idle_);
    if (member_.step(RoundHooks{*this})) return;
    if (shared_.preempts) {
      turn_cycles_ = read_cycles();
      arm();
      if (shared_.settings.preempt_on_demand) laggards_.look();
    }
    if (idle_ && !sharing_.is_on() && member_.in_round() && looks_++ < kRoundLooks) {
      SpinThenYield::relax();  // the other threads' step is cheaper to see than a turn
      continue;
    }
    looks_ = 0;
    idleness_.at_turn();
    const std::uint64_t start = sharing_.is_on() ? read_cycles() : 0;
    const auto turn = worker_.turn();
    idle_ = !turn.executed;
    idleness_.after_turn(idle_);
    if (!idle_) sharing_.note_turn(start);
    idle_ && !turn.received && !worker_.has_late() ? wait() : give_way();
  }
}

/// Exchanges messages with other ranks, unless another thread is doing so. Where a look costs a
/// system call for each rank, not after each turn.
void WorkerThread::deal_with_ranks(bool busy) {
  if (shared_.rank_link == nullptr) return;
  constexpr double kLookSeconds = 20e-6, kLookSecondsInRound = 5e-6;
  const std::uint64_t now = read_cycles();
  if (busy && now < next_deal_cycles_) return;
  if (!shared_.rank_link->looks_are_cheap())
    next_deal_cycles_ = now + cycles_in(member_.in_round() ? kLookSecondsInRound : kLookSeconds);
  shared_.rank_link->progress(sharing_.federate());
}

// ---- Interrupting

/// Clears the attention byte: the thread is about to look around anyway. With preempt_at_calls,
/// sets it.
void WorkerThread::arm() {
  if (shared_.settings.preempt_at_calls) {
    memory::ask_attention(memory::kLook);
  } else if (memory::attention_asked(memory::kLook)) {
    memory::end_attention(memory::kLook);
  }
}

/// A handler that has just been interrupted must first make progress. A turn of ordinary length is
/// not interrupted: it ends soon enough, and if a round waited for it, the cause was that the
/// system had taken the core away.
bool WorkerThread::may_interrupt() const {
  if (!worker_.may_interrupt()) return false;
  if (shared_.settings.preempt_at_calls) return true;
  constexpr double kTurnSeconds = 30e-6;
  const std::uint64_t now = read_cycles();
  return now >= next_look_cycles_ && now - worker_.turn_cycles() > cycles_in(kTurnSeconds);
}

/// Without --preempt tick or both, a tick counts only if the same turn has lasted since the tick
/// before.
bool WorkerThread::heeds_tick() {
  return std::exchange(turn_at_tick_, turn_cycles_) == turn_cycles_ ||
         shared_.settings.preempt_tick_seconds > 0;
}

bool WorkerThread::look_around(bool has_room) noexcept {
  const std::uint64_t start = read_cycles();
  const TraceSpan span(worker_.lane(), TraceKind::interrupted);
  arm();
  try {
    worker_.make_room_for_interrupt();
  } catch (const std::bad_alloc&) {
    return true;  // without memory for a look it goes on
  }
  ++interrupted_;
  std::uint64_t worked = 0;
  try {
    worker_.interrupt();
    ThreadWatch::turn_to(worker_.execution());
    worked = work_within(has_room && interrupted_ <= kMostInterrupted);
  } catch (...) {
    fail();
  }
  --interrupted_;
  const std::uint64_t end = read_cycles();
  next_look_cycles_ = end + kRunForLook * (end - start - worked);
  const bool goes_on = worker_.go_on(end - start);
  ThreadWatch::turn_to(worker_.execution());
  return goes_on;
}

/// Stores the current exception. It ends the thread once all interrupted handlers are dropped.
void WorkerThread::fail() {
  error_ = std::current_exception();
  over_ = true;
  worker_.abandon_all();
}

/// Takes part in rounds and executes events before the event that was interrupted last, until that
/// event is squashed, or until no event is left and it need not wait for memory. `may_execute`: if
/// false, nothing is executed, and the interrupted event gives way (give_way) to a lower event.
/// Returns the cycles of turns that executed or received something.
std::uint64_t WorkerThread::work_within(bool may_execute) {
  std::uint64_t worked = 0, waits_since = 0;
  for (;;) {
    const std::uint64_t start = read_cycles();
    const bool busy = turn_within(may_execute);
    if (busy) worked += read_cycles() - start;
    over_ = over_ || shared_.team.failed();
    if (!over_ && worker_.is_squashed()) return worked;
    deal_with_ranks(busy);
    over_ = over_ || member_.step(RoundHooks{*this});
    if (over_) break;
    if (worker_.is_squashed()) return worked;
    if (busy) {
      waits_since = 0;
      continue;
    }
    give_way();
    if (worker_.is_held_for_memory()) {
      wait();
      continue;
    }
    sharing_.reset_backoff();
    if (!member_.in_round()) return worked;
    if (waits_since == 0) waits_since = start;
    if (start - waits_since > cycles_in(kRoundWaitSeconds)) {
      if (shared_.settings.preempt_on_demand) laggards_.wake_in_long_events();
      return worked;
    }
    SpinThenYield::relax();
  }
  if (!worker_.is_squashed()) note_unreturned();
  worker_.squash_all();
  return worked;
}

/// Notes the handler that kept the run busy for over a second when the user stopped it: a user who
/// stops a run that makes no progress wants to know why.
void WorkerThread::note_unreturned() {
  constexpr double kLongSeconds = 1;
  if (worker_.ending().end != RunEnd::interrupted ||
      read_cycles() - turn_cycles_ < cycles_in(kLongSeconds))
    return;
  ModelCode code;
  code.tick_seconds = shared_.model.tick_seconds();
  worker_.interrupted_execution().tell(code);
  notes_.push_back(describe(code) + ": it had not returned when the run was stopped");
}

/// Whether anything was executed or came in.
bool WorkerThread::turn_within(bool may_execute) {
  const bool busy = worker_.turn_within(may_execute ? worker_.interrupted() : Key());
  if (!may_execute && !over_ && !worker_.is_squashed()) worker_.give_way();
  return busy;
}

}  // namespace orrery::timewarp
