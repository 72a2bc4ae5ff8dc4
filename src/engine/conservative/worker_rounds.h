// SPDX-License-Identifier: Apache-2.0
//
// Worker: its part in rounds (report.h). Included by worker.h only.
#pragma once

namespace orrery::conservative {

template <class Pending>
struct Worker<Pending>::RoundHooks {
  Worker& worker;

  bool due() { return worker.round_is_due(); }
  void join() { worker.join_round(); }
  Report report() { return worker.report(); }
  bool adopt() { return worker.adopt(); }
  bool delivered(std::uint64_t round) {
    const auto& rank_link = worker.shared_.rank_link;
    return !rank_link || rank_link->rounds().delivered(round);
  }
  bool settled(std::uint64_t round) {
    const auto& rank_link = worker.shared_.rank_link;
    return !rank_link || rank_link->rounds().settled(round);
  }
};

template <class Pending>
bool Worker<Pending>::round_is_due() {
  return halt_.is_under_way() || is_held_up() || fruitless_ >= kFruitlessLooks ||
         fingerprint_log_.is_long() || (fault_ && !fault_is_told_) ||
         read_cycles() >= next_round_cycles_ ||
         (shared_.settings.halt_every > 0 &&
          statistics_.executed - executed_at_round_ >= shared_.settings.halt_every);
}

template <class Pending>
void Worker<Pending>::join_round() {
  shared_.mesh.flush(index_);
  if (shared_.rank_link) shared_.rank_link->egress(index_).post_all(member_.round());
  const PlainEvent* const event = events_.top();
  lowest_at_join_ = event == nullptr ? Key::infinity() : event->key();
  begins_at_join_ = lowest_at_join_.time().ticks();
  shared_.mesh.for_each_waiting(index_, [this](const Message& message) {
    lowest_at_join_ = std::min(lowest_at_join_, message.event->key());
    begins_at_join_ = std::min(begins_at_join_, promised_);
  });
}

template <class Pending>
Report Worker<Pending>::report() {
  receive();
  Report report;
  report.lowest = lowest_at_join_;
  if (const PlainEvent* const event = events_.top())
    report.lowest = std::min(report.lowest, event->key());
  if (fault_ && fault_->key <= report.lowest) {
    report.lowest = fault_->key;
    report.fault_at_lowest = true;
    fault_is_told_ = true;
  }
  report.begins = std::min(begins_at_join_, report.lowest.time().ticks());
  report.highest = execution_.cause();
  report.stop = shared_.control.stop_requested.load(std::memory_order_relaxed);
  report.period_is_over = read_cycles() >= shared_.period.end_cycles;
  report.time_is_over = index_ == 0 && shared_.world.place().rank == 0 &&
                        shared_.goal.time_is_over_for_good(round_cycles_, executed_by_all_,
                                                           shared_.workers * events_.size());
  report.executed = statistics_.executed - executed_before_;
  report.sent = statistics_.sent;
  report.received = received_;
  report.memory_bytes = memory_bytes();
  return report;
}

/// Acts on the sum of the reports, which is the same for all workers. True if the period is over.
template <class Pending>
bool Worker<Pending>::adopt() {
  ++statistics_.rounds;
  Report sum = sum_of_all();
  sum.executed += shared_.period.executed;
  TraceSpan span(lane_, TraceKind::gvt_round,
                 std::min(sum.lowest.time(), shared_.options.until).ticks());
  span.set_count(shared_.world.committed + sum.executed);
  sum.period_is_over |= sum.executed >= shared_.period.end_events;
  raise_bound();
  certain_below_ = certainty(sum);
  commit(sum.lowest);
  if (index_ == 0) show(sum.lowest, sum.executed, sum.memory_bytes);
  fruitless_ = 0;
  executed_at_round_ = statistics_.executed;
  executed_by_all_ = sum.executed;
  round_cycles_ = read_cycles();
  set_next_round();
  const bool is_over = halt_.adopt(sum, shared_.end, shared_.options.until);
  holds_ = halt_.holds();
  is_restricted_ = has_committed_ || (halt_.is_under_way() && !holds_);
  return is_over;
}

template <class Pending>
Report Worker<Pending>::sum_of_all() const {
  Report sum;
  if (shared_.rank_link) {
    for (unsigned rank = 0; rank < shared_.rank_link->ranks(); ++rank)
      sum.add(shared_.rank_link->rounds().report_of(rank));
  } else {
    for (unsigned i = 0; i < shared_.workers; ++i) sum.add(shared_.rounds.report_of(i));
  }
  return sum;
}

/// The report of a node: a worker, or another rank (partition.h).
template <class Pending>
const Report& Worker<Pending>::report_of_node(unsigned node) const {
  if (node < shared_.workers) return shared_.rounds.report_of(node);
  return shared_.rank_link->rounds().report_of(shared_.partition.rank_of_node(node));
}

/// Raises the bound by the shortest paths from all nodes that may still begin an event (report.h).
template <class Pending>
void Worker<Pending>::raise_bound() {
  std::int64_t bound = kNever;
  for (unsigned other = 0; other < shared_.partition.nodes(); ++other) {
    const std::int64_t path = shared_.partition.lookaheads().path(other, index_);
    if (path != kNever) bound = std::min(bound, after(report_of_node(other).begins, path));
  }
  bound_ = std::max(bound_, bound);
}

/// Events that the others have not executed, and their faults, are at the keys that they report or
/// above, except for events that this worker sends them from now on, at least a delay later. So
/// once this worker has executed its own events below the returned key, all events below it are
/// executed, and none has failed.
template <class Pending>
Key Worker<Pending>::certainty(const Report& sum) const {
  const Report& own = shared_.rounds.report_of(index_);
  const std::int64_t delay = shared_.partition.lookaheads().shortest_from(index_);
  const std::int64_t sends = delay == kNever ? kNever : after(own.begins, delay);
  return std::min(sum.of_the_others(own.lowest), Key::start_of(Time::from_ticks(sends)));
}

/// Everything before `gvt` is executed and will not fail.
template <class Pending>
void Worker<Pending>::commit(const Key& gvt) {
  fingerprint_log_.forget(gvt, trail_);
  rows_.commit(gvt);
}

template <class Pending>
void Worker<Pending>::show(const Key& reached, std::uint64_t executed, std::uint64_t memory_bytes) {
  const World& world = shared_.world;
  shared_.control.publish(std::min(reached.time(), shared_.options.until),
                          world.committed + executed, world.executed + executed,
                          memory_bytes + shared_.depot.slab_bytes());
}

}  // namespace orrery::conservative
