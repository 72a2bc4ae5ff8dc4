// SPDX-License-Identifier: Apache-2.0
//
// Worker: its part in GVT rounds. After a round it commits and frees events (fossil collection),
// hands rows over, and decides how far ahead of GVT it may execute until the next round. All
// workers draw the same conclusions from the same reports.
#include <algorithm>

#include "engine/timewarp/worker.h"

namespace orrery::timewarp {

/// A round costs a few cache lines from each worker and a walk over the LPs with a history. Memory
/// that it frees is reused while still in the cache, so frequent rounds pay: on two cores PHOLD ran
/// at 15 million events/s with a round every 50 us, 10 with 400 us, 7 with 3 ms.
bool Worker::due() {
  if (cut_.holds() || is_held_up()) return true;
  const std::uint64_t executed = statistics_.executed - adopted_executed_;
  // The window stops this worker: only a higher GVT helps.
  if (idle_ && executed > 0) return true;
  const std::uint64_t elapsed = read_cycles() - adopted_cycles_;
  if (elapsed > period_cycles_ || (idle_ && elapsed > period_cycles_ / 32)) return true;
  return period_events_ > 0 && executed >= period_events_;
}

// ---- Before the end of a round

/// Received messages may have caused rollbacks. Their cancellations are published now and not after
/// the next batch: by then the round has let other workers go on from events that are to be
/// cancelled. Where wrong events cause more wrong events, cancellations that lag a round behind
/// never catch up with them, and the window stays narrow: a model with such handlers needed four
/// times as many rounds.
GvtReport Worker::report() {
  if (drain()) mailbox_.flush_all();
  held_.drop_cancelled(mailbox_);
  GvtReport report;
  const Key& sent_lowest = mailbox_.sent_lowest();
  report.lowest = std::min(
      {sent_lowest, lowest_pending(), held_.lowest(), suspensions_.lowest(), faults_.lowest()});
  report.stop = shared_.control.stop_requested.load(std::memory_order_relaxed);
  report.time_is_over = index_ == 0 && shared_.goal.time_is_over_for_good(
                                           told_.cycles, told_.committed, told_.pending);
  report.sent = mailbox_.sent();
  report.received = mailbox_.received();
  static_cast<WorkCounters&>(report) = statistics_;
  report.committed = committed_;
  report.most_committed = newly_committed_;
  report.pending = pending_.size();
  report.latest_ticks = std::exchange(latest_ticks_, 0);
  report_load(report);
  report.memory_bytes = memory_bytes() + (index_ == 0 ? shared_.bytes_from_ranks() : 0);
  report.memory_budget_bytes = index_ == 0 ? shared_.memory_budget_bytes : 0;
  report.on_its_way = sent_lowest;
  report.latest_final = held_.latest();
  report.fault_at_lowest = faults_.at(report.lowest) != nullptr;
  report.fault_is_certain = faults_.is_certain(report.lowest);
  report.faulted = !faults_.empty();
  held_.report(report.lowest);
  return report;
}

void Worker::report_load(GvtReport& report) const {
  const bool keeps_time = index_ == 0 && shared_.world.place().rank == 0;
  report.busy_cycles = busy_cycles_;
  report.lived_cycles = read_cycles() - start_cycles_;
  report.load = report.most_load = load();
  report.workers = 1;
  report.balances = balance_.is_on();
  report.period_cycles = keeps_time ? cycles_in(Balance::kPeriodSeconds) : 0;
}

// ---- After a round

bool Worker::adopt(const GvtReport& sum) {
  TraceSpan span(lane_, TraceKind::gvt_round,
                 std::min(sum.lowest.time(), shared_.options.until).ticks());
  span.set_count(shared_.world.committed + sum.committed);
  commit(sum);
  set_window(sum);
  if (index_ == 0) show(sum);
  const bool ends = decide_end(sum);
  if (sum.fault_at_lowest && !sum.fault_is_certain) [[unlikely]]
    retry_fault();
  dead_timers_.commit(gvt_, mailbox_);
  if (must_sweep(sum)) free_cancelled();
  if (dead_timer_count_.are_many(executor_.cancelled_timers(), pending_.size())) [[unlikely]]
    reclaim_dead_timers();
  const bool retreats = optimism_.must_retreat();
  if (retreats) statistics_.retreats += retreat(horizon_);
  adopted_memory_bytes_ = memory_bytes();
  if constexpr (kAssertions) {
    constexpr std::uint64_t kRounds = 512;  // from one check to the next
    if (statistics_.gvt_rounds % kRounds == 0) check_places();
  }
  adopted_cycles_ = read_cycles();
  end_period();
  balance_.note(sum);
  if (balance_.period_begins()) {  // loads count from now on
    load_busy_cycles_ = busy_cycles_;
    load_executed_ = statistics_.executed;
    load_committed_ = committed_;
  }
  const bool over = ends || follow_cut(sum);
  held_.adopt(sum, !sum.stop && !cut_.is_coming(), retreats ? horizon_ : Key::infinity());
  return over;
}

void Worker::commit(const GvtReport& sum) {
  ORRERY_ASSERT(sum.lowest >= gvt_, "GVT never goes back");
  ORRERY_ASSERT(sum.committed <= sum.executed - sum.rolled_back,
                "what is committed was executed and not undone");
  gvt_ = sum.lowest;
  faults_.set_gvt(gvt_);
  ++statistics_.gvt_rounds;
  if (faults_.trail.concerns(gvt_.microstep())) [[unlikely]]
    log_.note_steps(gvt_);
  mailbox_.commit_sent_to_ranks(gvt_);
  log_.commit_all(gvt_, mailbox_);
  held_.commit(gvt_, [this](const HeldEvents::Final& one) { faults_.trail.note(one.key, one.lp); });
  emitted_.commit(gvt_);
  if (emitted_.has_rows) hand_rows_over();
  const std::uint64_t committed =
      statistics_.executed - statistics_.rolled_back - log_.uncommitted() - held_.uncommitted();
  ORRERY_ASSERT(committed >= committed_, "what is committed stays so");
  newly_committed_ = committed - committed_;
  committed_ = committed;
  told_ = {adopted_cycles_, sum.committed, sum.pending};
}

/// Rows of finish() come later, at the end of the run's last instant, so the sink advances no
/// further than that.
void Worker::hand_rows_over() {
  RowSink& sink = *shared_.control.rows;
  if (!emitted_.ready.empty()) sink.commit(index_, emitted_.ready);
  sink.advance(index_, std::min(gvt_, Key::end_of(shared_.options.until)));
}

/// Sets how far ahead events may be executed, and the checkpoint interval.
void Worker::set_window(const GvtReport& sum) {
  optimism_.note(sum);
  horizon_ = std::min(optimism_.horizon(gvt_), shared_.end);
  log_.adjust(event_cycles_);
  log_.choose_writing(shared_.stream_from_bytes);
  log_.set_mild_from(shared_.mild_from.load(std::memory_order_relaxed));
}

/// Where execution stops for now: the horizon, or one microstep after GVT if this worker has come
/// to hold more than its part of the memory budget since the last round. A worker in a long event
/// delays the next round; the others must not fill the memory meanwhile. Credit for messages to
/// other ranks may run short likewise.
Key Worker::window_end() const {
  const std::int64_t bytes = memory_bytes();
  const bool growing = static_cast<double>(bytes) > optimism_.budget_bytes() / shared_.workers &&
                       bytes > adopted_memory_bytes_ + adopted_memory_bytes_ / 4;
  if (!growing && !shared_.is_short_of_credit()) [[likely]]
    return horizon_;
  return std::min(horizon_, Optimism::next_step(gvt_));
}

/// Publishes the progress of the run; worker 0 does this for all. Relaxed: the values are hints.
void Worker::show(const GvtReport& sum) {
  if (cache_tuning_) {
    if (const auto threshold = cache_tuning_->note(sum.committed, read_cycles()))
      shared_.mild_from.store(*threshold, std::memory_order_relaxed);
  }
  shared_.control.publish(std::min(gvt_.time(), shared_.options.until),
                          shared_.world.committed + sum.committed,
                          shared_.world.executed + sum.executed,
                          static_cast<std::uint64_t>(std::max<std::int64_t>(sum.memory_bytes, 0)));
}

bool Worker::decide_end(const GvtReport& sum) {
  if (sum.fault_at_lowest && sum.fault_is_certain) {
    ending_ = {RunEnd::fault, gvt_};
  } else if (gvt_ == Key::infinity()) {
    ending_ = {RunEnd::completed, gvt_};
  } else if (sum.stop && sum.latest_final < gvt_) {
    ending_ = {RunEnd::interrupted, gvt_};
  } else {
    return false;
  }
  return true;
}

/// Rolls back an event at GVT that has failed once, so that it is executed again.
[[gnu::noinline]] void Worker::retry_fault() {
  if (const HandlerFault* const fault = faults_.retry()) roll_back(fault->lp, fault->key);
}

/// Whether cancelled events that still wait for their time are to be freed now. They would pile up
/// in a model that schedules far ahead and is rolled back often.
bool Worker::must_sweep(const GvtReport& sum) {
  constexpr std::uint64_t kSweepCancellations = 1024;  // times the workers
  const std::uint64_t since = sum.cancellations - swept_cancellations_;
  if (since <= kSweepCancellations * shared_.all_workers() || since <= sum.pending / 2)
    return false;
  swept_cancellations_ = sum.cancellations;
  return true;
}

/// Updates the rollback rate and the longest batch from the events since the last round.
void Worker::end_period() {
  const std::uint64_t executed = statistics_.executed - adopted_executed_;
  if (executed > 0) {
    const auto rolled_back = static_cast<double>(statistics_.rollbacks - adopted_rollbacks_);
    rollback_rate_ = 0.9 * rollback_rate_ + 0.1 * rolled_back / static_cast<double>(executed);
    most_in_batch_ = std::clamp(1 / std::max(rollback_rate_, 1e-9), double{kBatchEventsInStorms},
                                double{kBatchEvents});
  }
  adopted_executed_ = statistics_.executed;
  adopted_rollbacks_ = statistics_.rollbacks;
}

}  // namespace orrery::timewarp
