// SPDX-License-Identifier: Apache-2.0
//
// Worker: messages, GVT rounds, commitment, and what is decided once a round. Included by worker.h
// only.
#pragma once

namespace orrery::timewarp {

template <class Pending>
bool Worker<Pending>::drain() {
  std::size_t received = 0;
  for (unsigned from = 0; from < shared_.workers; ++from) {
    if (from == index_) continue;
    received += shared_.channel(from, index_).drain([this](Message m) { receive(m); });
  }
  return received > 0;
}

template <class Pending>
void Worker<Pending>::flush() {
  for (unsigned to = 0; to < shared_.workers; ++to)
    if (to != index_) shared_.channel(index_, to).flush();
}

/// Moves the current round on as far as it goes without waiting. True when the run has ended.
template <class Pending>
bool Worker<Pending>::step_gvt() {
  for (;;) {
    switch (phase_) {
      case Phase::between:
        if (shared_.gvt.round() == round_) {
          if (!round_is_due()) return false;
          shared_.gvt.start(round_);
        }
        join_round();
        break;
      case Phase::joined:
        if (!shared_.gvt.all_joined(round_, scanned_)) return false;
        report();
        break;
      case Phase::reported:
        if (!shared_.gvt.all_reported(round_, scanned_)) return false;
        if (adopt()) return true;
        break;
    }
  }
}

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

template <class Pending>
void Worker<Pending>::join_round() {
  ++round_;
  flush();
  sent_lowest_ = lowest_waiting();
  shared_.gvt.join(index_, round_);
  scanned_ = 0;
  phase_ = Phase::joined;
}

template <class Pending>
Key Worker<Pending>::lowest_key() {
  Key lowest = sent_lowest_;
  if (const TwEvent* event = pending_.top()) lowest = std::min(lowest, event->key());
  for (const Fault& fault : faults_) lowest = std::min(lowest, fault.key);
  return lowest;
}

/// Lowest key among the messages that found no room in their channel yet. They may be published
/// after their receiver has reported, so they count as sent in the round that begins.
template <class Pending>
Key Worker<Pending>::lowest_waiting() {
  Key lowest = Key::infinity();
  for (unsigned to = 0; to < shared_.workers; ++to) {
    if (to == index_) continue;
    shared_.channel(index_, to).for_each_waiting([&lowest](Message message) {
      lowest = std::min(lowest, message.event()->key());
    });
  }
  return lowest;
}

template <class Pending>
void Worker<Pending>::report() {
  drain();
  GvtReport report;
  report.lowest = lowest_key();
  report.fault_at_lowest = fault_at(report.lowest) != nullptr;
  report.stop = shared_.control.stop_requested.load(std::memory_order_relaxed);
  report.executed = statistics_.executed;
  report.rolled_back = statistics_.rolled_back;
  report.committed = committed_;
  report.memory_bytes = memory_bytes();
  report.cancellations = statistics_.cancellations;
  report.pending = pending_.size();
  report.latest_ticks = latest_ticks_;
  latest_ticks_ = 0;
  shared_.gvt.report(index_, round_, report);
  scanned_ = 0;
  phase_ = Phase::reported;
}

/// Takes the result of a round. True when it ends the run.
template <class Pending>
bool Worker<Pending>::adopt() {
  GvtReport sum;
  sum.lowest = Key::infinity();
  for (unsigned i = 0; i < shared_.workers; ++i) {
    const GvtReport& one = shared_.gvt.report_of(i);
    if (one.lowest < sum.lowest) {
      sum.lowest = one.lowest;
      sum.fault_at_lowest = one.fault_at_lowest;
    } else if (one.lowest == sum.lowest) {
      // Keys are unique: the other one is the notice that cancels the event that failed.
      sum.fault_at_lowest = false;
    }
    sum.stop |= one.stop;
    sum.executed += one.executed;
    sum.rolled_back += one.rolled_back;
    sum.committed += one.committed;
    sum.memory_bytes += one.memory_bytes;
    sum.cancellations += one.cancellations;
    sum.pending += one.pending;
    sum.latest_ticks = std::max(sum.latest_ticks, one.latest_ticks);
  }
  gvt_ = sum.lowest;
  phase_ = Phase::between;
  ++statistics_.gvt_rounds;
  commit_all(gvt_);
  committed_ = statistics_.executed - statistics_.rolled_back - uncommitted_;
  if (sum.cancellations - swept_cancellations_ > kSweepCancellations * shared_.workers &&
      sum.cancellations - swept_cancellations_ > sum.pending / 2) {
    swept_cancellations_ = sum.cancellations;
    sweep_cancelled();
  }
  adjust(sum);
  adopted_cycles_ = read_cycles();
  adopted_executed_ = statistics_.executed;
  adopted_memory_bytes_ = memory_bytes();
  if (sum.fault_at_lowest) {
    ending_ = {RunEnd::fault, gvt_};
  } else if (gvt_ == Key::infinity()) {
    ending_ = {RunEnd::completed, gvt_};
  } else if (sum.stop) {
    ending_ = {RunEnd::interrupted, gvt_};
  } else {
    return false;
  }
  return true;
}

/// Frees the cancelled events that still wait for their time: a model that schedules far ahead and
/// is rolled back often would pile them up. Nobody else refers to them: they were cancelled before
/// they were claimed, so no notice is coming.
template <class Pending>
void Worker<Pending>::sweep_cancelled() {
  pending_.drain([this](TwEvent* event) { swept_.push_back(event); });
  for (TwEvent* event : swept_) {
    if ((event->status.load(std::memory_order_acquire) & TwEvent::kCancelled) != 0) {
      free_event(event);
    } else {
      pending_.push(event);
    }
  }
  swept_.clear();
}

template <class Pending>
std::int64_t Worker<Pending>::memory_bytes() const {
  return static_cast<std::int64_t>(rows_.bytes() + speculative_rows_.bytes()) + pool_.used_bytes() +
         static_cast<std::int64_t>(blocks_.used_bytes() + keeper_.bytes()) +
         static_cast<std::int64_t>(pending_.bytes()) +
         static_cast<std::int64_t>(arena_.taken_bytes());
}

/// The end of the optimism window over `gvt`.
template <class Pending>
Time Worker<Pending>::horizon_from(Time gvt) const {
  std::int64_t limit;
  if (__builtin_add_overflow(gvt.ticks(), optimism_.window_ticks(), &limit)) limit = INT64_MAX;
  return std::min(Time::from_ticks(limit), shared_.options.until);
}

/// Sets window, checkpoint interval and what watchers see.
template <class Pending>
void Worker<Pending>::adjust(const GvtReport& sum) {
  const std::int64_t now = std::min(gvt_.time(), shared_.options.until).ticks();
  optimism_.observe({sum.executed, sum.rolled_back, sum.memory_bytes,
                     std::max<std::int64_t>(sum.latest_ticks - now, 0)});
  horizon_ = horizon_from(Time::from_ticks(now));
  if (optimism_.must_retreat()) retreat(horizon_);

  const std::uint64_t executed = statistics_.executed - adjusted_executed_;
  if (executed > 8192) {
    interval_.adjust(executed, statistics_.rollbacks - adjusted_rollbacks_, checkpoint_cycles_,
                     event_cycles_);
    adjusted_executed_ = statistics_.executed;
    adjusted_rollbacks_ = statistics_.rollbacks;
  }
  keeper_.observe(statistics_.executed, read_cycles());
  blocks_.set_mild_from(shared_.mild_from.load(std::memory_order_relaxed));
  if (index_ != 0) return;
  if (cache_tuning_) {
    if (const auto threshold = cache_tuning_->observe(sum.committed))
      shared_.mild_from.store(*threshold, std::memory_order_relaxed);
  }
  RunControl& control = shared_.control;
  control.gvt_ticks.store(now, std::memory_order_relaxed);
  control.executed.store(sum.executed, std::memory_order_relaxed);
  control.committed.store(sum.committed, std::memory_order_relaxed);
  control.memory_bytes.store(
      static_cast<std::uint64_t>(std::max<std::int64_t>(sum.memory_bytes, 0)),
      std::memory_order_relaxed);
}

/// Commits what is before `until`: frees events and checkpoints that no rollback can need, and
/// hands rows over.
template <class Pending>
void Worker<Pending>::commit_all(const Key& until) {
  uncommitted_ = 0;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < active_.size(); ++i) {
    prefetch_commit(i);
    const LpId id = active_[i];
    if (commit(id, lps_[id], until)) active_[kept++] = id;
  }
  active_.resize(kept);
  if (has_rows_) hand_rows_over(until);
}

/// Rows of finish() are still to come, at the end of the run's last instant.
template <class Pending>
void Worker<Pending>::hand_rows_over(const Key& until) {
  if (!rows_.empty()) shared_.control.rows->commit(index_, rows_);
  shared_.control.rows->advance(index_, std::min(until, Key::end_of(shared_.options.until)));
}

/// For the walk over the LPs with a history, at position `at`: state, history, events of later
/// ones.
template <class Pending>
void Worker<Pending>::prefetch_commit(std::size_t at) {
  if (at + 12 < active_.size()) {
    __builtin_prefetch(&lps_[active_[at + 12]], 1);
  }
  if (at + 8 < active_.size()) {
    const LpState& lp = lps_[active_[at + 8]];
    __builtin_prefetch(lp.checkpoints, 1);
    if (lp.count > 0) __builtin_prefetch(lp.history()[0], 1);
  }
}

/// False if nothing uncommitted is left of the LP.
template <class Pending>
bool Worker<Pending>::commit(LpId id, LpState& lp, const Key& until) {
  if (lp.kept) [[unlikely]]
    return commit_kept(id, lp, until);
  TwEvent* const* history = lp.history();
  std::uint32_t committed = 0;
  while (committed < lp.count && history[committed]->key() < until) ++committed;
  if (has_rows_ && committed > 0) speculative_rows_.commit(id, until, rows_);
  if (committed == lp.count) {
    for (std::uint32_t i = 0; i < lp.count; ++i) free_event(history[i]);
    lp.rest(blocks_);
    lp.active = 0;
    return false;
  }
  uncommitted_ += lp.count - committed;
  if (committed == 0) return true;
  // Rollbacks from now on go no further back than `committed`: they need the newest checkpoint that
  // is not after it, and the events from there on.
  checkpoint::Checkpoint* base = lp.checkpoints;
  while (base->ordinal - lp.base > committed) base = base->older;
  checkpoint::release_all(blocks_, base->older);
  base->older = nullptr;
  const std::uint32_t dropped = base->ordinal - lp.base;
  for (std::uint32_t i = 0; i < dropped; ++i) free_event(history[i]);
  lp.drop_front(dropped);
  return true;
}

/// The same for an LP with a record of its own: it keeps its newest checkpoint and the events
/// since.
template <class Pending>
bool Worker<Pending>::commit_kept(LpId id, LpState& lp, const Key& until) {
  const checkpoint::Keeper::Lp view = kept(id, lp);
  TwEvent* const* history = lp.history();
  const std::uint32_t before = view.kept.committed - lp.base;
  std::uint32_t committed = before;
  while (committed < lp.count && history[committed]->key() < until) ++committed;
  const std::uint32_t uncommitted = lp.count - committed;
  uncommitted_ += uncommitted;
  lp.active = uncommitted > 0;
  if (committed == before) return lp.active;
  if (has_rows_) speculative_rows_.commit(id, until, rows_);
  view.kept.committed = lp.base + committed;
  const std::uint32_t dropped = keeper_.commit(view, view.kept.committed) - lp.base;
  for (std::uint32_t i = 0; i < dropped; ++i) free_event(history[i]);
  lp.drop_front(dropped);
  return lp.active;
}

/// Gives back what an LP keeps of the committed past. It has nothing that is not committed.
template <class Pending>
void Worker<Pending>::rest_kept(LpId id, LpState& lp) {
  const checkpoint::Keeper::Lp view = kept(id, lp);
  keeper_.release_all(view);
  for (std::uint32_t i = 0; i < lp.count; ++i) free_event(lp.history()[i]);
  lp.forget_history(blocks_);
  view.kept.committed = lp.base;
}

/// Undoes what was executed at or after `to`, to give its memory back.
template <class Pending>
void Worker<Pending>::retreat(Time to) {
  const Key from = Key::start_of(to);
  for (std::size_t i = 0; i < active_.size(); ++i) {
    const LpId id = active_[i];
    if (lps_[id].last_ticks < to.ticks()) continue;
    ++statistics_.retreats;
    roll_back(id, from);
  }
  for (const LpId id : kept_lps_)
    if (!lps_[id].active) rest_kept(id, lps_[id]);
  blocks_.trim();
  flush();
}

}  // namespace orrery::timewarp
