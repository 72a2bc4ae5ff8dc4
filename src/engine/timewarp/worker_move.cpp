// SPDX-License-Identifier: Apache-2.0
//
// Worker: moving LPs to and from it at a cut (moving.h), and measuring the loads from which
// balance.h decides when LPs move.
#include "engine/timewarp/worker.h"

namespace orrery::timewarp {

/// As run_batch, and adds each event's cycles to the load of its LP. If there was a rollback, the
/// cycles include other work: then the mean cost of an event counts instead.
std::uint32_t Worker::run_measured_batch(const Key& limit, std::uint32_t most_events) {
  std::uint32_t executed = 0;
  std::uint64_t start = read_cycles();
  while (executed < most_events) {
    const TwEvent* next = pending_.top();
    if (next == nullptr) break;
    const LpId id = next->receiver;
    const std::uint64_t rollbacks = statistics_.rollbacks, away = away_cycles_;
    const std::uint64_t interrupted = statistics_.interrupted;
    if (run_batch(limit, 1) == 0) break;
    ++executed;
    const std::uint64_t end = read_cycles();
    const bool usual = statistics_.rollbacks == rollbacks;
    shared_.moving.measure(id, usual ? end - start - (away_cycles_ - away)
                                     : static_cast<std::uint64_t>(event_cycles_));
    if (statistics_.interrupted != interrupted) break;  // a round may have changed the limit
    start = end;
  }
  return executed;
}

/// Cycles spent on events that were committed in the period. The numbers of executed and
/// uncommitted events at its begin and its end are taken to be equal.
double Worker::load() const {
  const std::uint64_t executed = statistics_.executed - load_executed_;
  if (executed == 0) return 0;
  const std::uint64_t committed = committed_ - load_committed_;
  return static_cast<double>(busy_cycles_ - load_busy_cycles_) *
         std::min(1.0, static_cast<double>(committed) / static_cast<double>(executed));
}

// ---- At a cut

void Worker::hand_out_lps() {
  auto& handed_out = shared_.moving.handed_out(index_);
  erase_pending_if([&](TwEvent* event) {
    if (mailbox_.free_if_cancelled(event)) return true;
    if (shared_.owners[event->receiver] == index_) return false;
    handed_out.push_back(event);
    return true;
  });
  log_.dismiss_records([this](LpId id) { return shared_.owners[id] != index_; });
}

void Worker::take_moved_lps() {
  for (const Moving::Lp& lp : shared_.moving.lps()) {
    if (lp.to != index_) continue;
    lps_.bind(lp.id, arena_);
    if (!lps_[lp.id].held) log_.adopt(lp.id, lps_[lp.id]);
  }
  for (unsigned from = 0; from < shared_.workers; ++from)
    for (TwEvent* event : shared_.moving.handed_out(from))
      if (shared_.owners[event->receiver] == index_) pending_.push(event);
  if constexpr (kAssertions) check_cut();
}

/// `moved`: some LPs of this rank have moved; `anywhere`: also true if other ranks' LPs may have.
void Worker::end_move(bool moved, bool anywhere) {
  is_moving_ = false;
  if (!moved) free_cancelled();
  balance_.note_cut(anywhere);
}

}  // namespace orrery::timewarp
