// SPDX-License-Identifier: Apache-2.0
#include "engine/timewarp/commitment.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "core/cycles.h"

namespace orrery::timewarp {

Commitment::Commitment(Shared& shared, unsigned index, Mailbox& mailbox, RollbackLog& log,
                       HeldEvents& held, FaultList& faults, Emitted& emitted,
                       WorkerStatistics& statistics)
    : shared_(shared),
      index_(index),
      mailbox_(mailbox),
      log_(log),
      held_(held),
      faults_(faults),
      emitted_(emitted),
      statistics_(statistics),
      optimism_(shared.settings.window_ticks, shared.memory_budget_bytes, shared.all_workers()) {
  if (index == 0 && shared.cache.automatic && shared.cache.colouring.on)
    cache_tuning_.emplace(shared.cache.colouring.way_bytes,
                          cycles_in(memory::CacheTuning::kPeriodSeconds));
  gvt_ = shared.world.cut;
  horizon_ = horizon_from(gvt_);
}

GvtReport Commitment::report(const Local& local) const {
  GvtReport report;
  const Key& sent_lowest = mailbox_.sent_lowest();
  const Key lowest = std::min({sent_lowest, local.lowest_pending, faults_.lowest()});
  report.lowest = lowest;
  report.stop = shared_.control.stop_requested.load(std::memory_order_relaxed);
  report.time_is_over = index_ == 0 && shared_.goal.time_is_over_for_good(
                                           told_.cycles, told_.committed, told_.pending);
  report.sent = mailbox_.sent();
  report.received = mailbox_.received();
  static_cast<WorkReport&>(report) = {.executed = statistics_.executed,
                                      .rolled_back = statistics_.rolled_back,
                                      .coasted = statistics_.coasted,
                                      .committed = committed_,
                                      .cancellations = statistics_.cancellations,
                                      .undone_at_cuts = statistics_.undone_at_cuts,
                                      .most_committed = newly_committed_,
                                      .pending = local.pending,
                                      .latest_ticks = local.latest_ticks};
  static_cast<LoadReport&>(report) = local.load;
  report.memory_bytes = local.memory_bytes;
  report.memory_budget_bytes = index_ == 0 ? shared_.memory_budget_bytes : 0;
  static_cast<FinalReport&>(report) = {sent_lowest, held_.latest()};
  static_cast<FailureReport&>(report) = {faults_.at(lowest) != nullptr, faults_.is_certain(lowest),
                                         !faults_.empty()};
  return report;
}

bool Commitment::adopt(const GvtReport& sum, const Local& local) {
  ORRERY_ASSERT(sum.lowest >= gvt_, "GVT never goes back");
  ORRERY_ASSERT(sum.committed <= sum.executed - sum.rolled_back,
                "what is committed was executed and not undone");
  gvt_ = sum.lowest;
  faults_.set_gvt(gvt_);
  ++statistics_.gvt_rounds;
  if (faults_.trail.concerns(gvt_)) [[unlikely]]
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
  told_ = {std::exchange(adopted_cycles_, read_cycles()), sum.committed, sum.pending};
  decide_sweep(sum);
  adjust(sum, local);
  return decide_end(sum);
}

bool Commitment::decide_end(const GvtReport& sum) {
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

/// Rows of finish() come later, at the end of the run's last instant, so the sink advances no
/// further than that.
void Commitment::hand_rows_over() {
  RowSink& sink = *shared_.control.rows;
  if (!emitted_.ready.empty()) sink.commit(index_, emitted_.ready);
  sink.advance(index_, std::min(gvt_, Key::end_of(shared_.options.until)));
}

/// Decides whether cancelled events are removed before their time: they would pile up in a model
/// that schedules far ahead and is rolled back often.
void Commitment::decide_sweep(const GvtReport& sum) {
  constexpr std::uint64_t kSweepCancellations = 1024;  // times the workers
  const std::uint64_t since = sum.cancellations - swept_cancellations_;
  must_sweep_ = since > kSweepCancellations * shared_.all_workers() && since > sum.pending / 2;
  if (must_sweep_) swept_cancellations_ = sum.cancellations;
}

/// The end of the optimism window over `gvt`.
Key Commitment::horizon_from(const Key& gvt) const {
  return std::min(optimism_.horizon(gvt), shared_.end);
}

/// Sets the window, the checkpoint interval and the figures in RunControl.
void Commitment::adjust(const GvtReport& sum, const Local& local) {
  const std::int64_t now = std::min(gvt_.time(), shared_.options.until).ticks();
  const double capacity = static_cast<double>(sum.lived_cycles) * shared_.cores_a_worker;
  optimism_.note({.executed = sum.executed,
                  .rolled_back = sum.rolled_back - sum.undone_at_cuts,
                  .coasted = sum.coasted,
                  .most_committed = sum.most_committed,
                  .busy_cycles = sum.busy_cycles,
                  .capacity_cycles = static_cast<std::uint64_t>(capacity),
                  .memory_bytes = sum.pressing_bytes,
                  .lead_ticks = std::max<std::int64_t>(sum.latest_ticks - now, 0)});
  horizon_ = horizon_from(gvt_);
  log_.adjust(local.event_cycles);
  log_.set_mild_from(shared_.mild_from.load(std::memory_order_relaxed));
  if (index_ == 0) show(sum);
}

/// Publishes the progress of the run; worker 0 does this for all. Relaxed: the values are hints.
void Commitment::show(const GvtReport& sum) {
  if (cache_tuning_) {
    if (const auto threshold = cache_tuning_->note(sum.committed, read_cycles()))
      shared_.mild_from.store(*threshold, std::memory_order_relaxed);
  }
  RunControl& control = shared_.control;
  control.gvt_ticks.store(std::min(gvt_.time(), shared_.options.until).ticks(),
                          std::memory_order_relaxed);
  control.executed.store(shared_.world.executed + sum.executed, std::memory_order_relaxed);
  control.committed.store(shared_.world.committed + sum.committed, std::memory_order_relaxed);
  control.memory_bytes.store(
      static_cast<std::uint64_t>(std::max<std::int64_t>(sum.memory_bytes, 0)),
      std::memory_order_relaxed);
}

Key Commitment::limit(std::int64_t memory_bytes) const {
  const double part = optimism_.budget_bytes() / shared_.workers;
  const bool growing = static_cast<double>(memory_bytes) > part &&
                       memory_bytes > adopted_memory_bytes_ + adopted_memory_bytes_ / 4;
  if (!growing) [[likely]]
    return horizon_;
  return std::min(horizon_, Optimism::next_step(gvt_));
}

}  // namespace orrery::timewarp
