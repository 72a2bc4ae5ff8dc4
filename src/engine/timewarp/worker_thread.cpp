// SPDX-License-Identifier: Apache-2.0
//
// Worker: the thread: set-up, turns, GVT rounds, waiting, and the end.
#include "engine/timewarp/worker.h"

#include <algorithm>
#include <new>
#include <utility>

namespace orrery::timewarp {

void Worker::run() {
  const HandlerThread thread(shared_.world, shared_.control, executor_.execution(), true);
  std::optional<Preemptible> preemptible;
  std::optional<ThreadWaker::Registration> registration;
  if (shared_.preempts) {
    preemptible.emplace(static_cast<Preemptor&>(*this), shared_.text, tick_seconds());
    registration.emplace(shared_.waker, index_);
    note_ticks(*preemptible);
  }
  if (!set_up()) return;
  start_cycles_ = adopted_cycles_ = read_cycles();
  take_turns();
  if (error_) std::rethrow_exception(error_);
  if (shared_.team.failed()) return;
  for (const std::string& note : {sharing_.note(), thread.note()})
    if (!note.empty()) notes_.push_back(note);
  end_run();
}

/// False if the set-up has failed on some thread.
bool Worker::set_up() {
  const std::uint64_t start = read_cycles();
  take_lps();
  if (!shared_.team.end_step()) return false;
  if (index_ == 0 && shared_.world.committed == 0) {  // only a new run is refused
    if (const auto failure = shared_.refusal()) shared_.team.note_failure(*failure);
  }
  if (!shared_.team.end_step()) return false;
  take_events();
  if (index_ == 0) shared_.goal.restart();
  if (!shared_.team.end_step()) return false;
  set_up_seconds_ = seconds_of(read_cycles() - start);
  return true;
}

// ---- Rounds, for transport::RoundMember

void Worker::join() {
  held_.join_round(mailbox_.sent_lowest());
  mailbox_.join_round();
}

bool Worker::delivered(std::uint64_t round) {
  return shared_.rank_link == nullptr || shared_.rank_link->rounds().delivered(round);
}

bool Worker::settled(std::uint64_t round) {
  return shared_.rank_link == nullptr || shared_.rank_link->rounds().settled(round);
}

void Worker::call_others() {
  if (Federate* const federate = sharing_.federate()) federate->call_all();
}

bool Worker::adopt() {
  const bool ends = adopt(shared_.sum_of_reports());
  if (!is_moving_) return ends;
  ORRERY_ASSERT(interrupted_ == 0, "on the way to a cut all that was interrupted is dropped");
  return !move_lps();
}

/// Goes through the steps in moving.h. False if a thread has failed. A rank cannot see whether LPs
/// move on other ranks, so it assumes that they do.
bool Worker::move_lps() {
  const TraceSpan span(lane_, TraceKind::moving);
  const bool moves_elsewhere = shared_.rank_link != nullptr;
  if (!balance_.is_on()) {
    end_move(false, true);
    return true;
  }
  shared_.moving.note_load(index_, load());
  if (!end_step()) return false;
  Moving& moving = shared_.moving;
  if (index_ == 0) {
    moving.decide(shared_.model, shared_.owners, balance_.plan());
    for (const Moving::Lp& lp : moving.lps()) {
      shared_.owners[lp.id] = lp.to;
      shared_.world.give_to(lp.id, lp.to, shared_.workers);
    }
    statistics_.moves += moving.lps().empty() ? 0 : 1;
    statistics_.lps_moved += moving.lps().size();
  }
  if (!end_step()) return false;
  const bool moved = !moving.lps().empty();
  if (moved) {
    hand_out_lps();
    if (!end_step()) return false;
    take_moved_lps();
  }
  end_move(moved, moved || moves_elsewhere);
  return true;
}

/// Waits until all threads have ended the step, in the middle of a run. False if one has failed.
bool Worker::end_step() {
  const TokenAside aside;
  return shared_.team.end_step();
}

void Worker::take_turns() {
  const CoreSharing::Membership membership(sharing_);
  while (!over_ && !shared_.team.failed()) {
    deal_with_ranks(!idle_);
    if (member_.step(*this)) return;
    if (shared_.preempts) {
      outer_turn_cycles_ = read_cycles();
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
    const Turn last = turn();
    idle_ = !last.executed;
    idleness_.after_turn(idle_);
    if (!idle_) sharing_.note_turn(start);
    idle_ && !last.received && mailbox_.late().empty() ? wait() : give_way();
  }
}

/// Exchanges messages with other ranks, unless another thread is doing so. Where a look costs a
/// system call for each rank, not after each turn.
void Worker::deal_with_ranks(bool busy) {
  if (shared_.rank_link == nullptr) return;
  constexpr double kLookSeconds = 20e-6, kLookSecondsInRound = 5e-6;
  const std::uint64_t now = read_cycles();
  if (busy && now < next_deal_cycles_) return;
  if (!shared_.rank_link->looks_are_cheap())
    next_deal_cycles_ = now + cycles_in(member_.in_round() ? kLookSecondsInRound : kLookSeconds);
  shared_.rank_link->progress(sharing_.federate());
}

}  // namespace orrery::timewarp
