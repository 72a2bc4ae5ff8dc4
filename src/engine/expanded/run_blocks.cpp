// SPDX-License-Identifier: Apache-2.0
//
// ExpandedRun: the sequence of blocks, execution in place, and the work between blocks.
#include "engine/expanded/run.h"

namespace orrery::expanded {

void ExpandedRun::loop() {
  for (bool more = true; more;) {
    const std::uint64_t start = read_cycles();
    const std::uint64_t finished_before = finished_, busy_before = busy_cycles();
    enter(tuner_.mode());
    block_ = {finished_ + goal_.until_look(finished_, kBlockEvents), start + tuner_.block_cycles(),
              tuner_.batch()};
    const std::uint64_t cancelled_before = executors_[0]->cancelled_timers();
    {
      TraceSpan span(executors_[0]->lane(), TraceKind::block, last_key().time().ticks(), 0,
                     name_of(mode_));
      more = mode_ == Mode::in_place ? run_in_place() : run_dealt();
      span.set_count(finished_ - finished_before);
    }
    if (mode_ == Mode::in_place)
      cancelled_timers_ += executors_[0]->cancelled_timers() - cancelled_before;
    tuner_.note({finished_ - finished_before, read_cycles() - start, busy_cycles() - busy_before});
    poll();
  }
}

/// Cycles spent in handlers so far, on all threads. Relaxed: a figure for the tuner only.
std::uint64_t ExpandedRun::busy_cycles() const {
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < workers_; ++i)
    sum += slots_[i].busy_cycles.load(std::memory_order_relaxed);
  return sum;
}

void ExpandedRun::enter(Mode mode) {
  if (mode == mode_) return;
  drain();
  schedule_.settle();
  mode_ = mode;
  if (mode != Mode::in_place && !team_.running()) start_workers();
  bind(mode != Mode::in_place);
}

/// Executes and frees an event. If it fails, it becomes the limit, so no other event is within it.
[[gnu::always_inline]] inline void ExpandedRun::execute_in_place(Executor& executor, Event* event) {
  if (executor.is_dead_timer(*event)) [[unlikely]] {
    executor.release(event);
    return dead_timer_count_.note_dropped();
  }
  world_.trail.note(event->key(), event->receiver);
  Event* sent = nullptr;
  const bool succeeded = executor.run(*event, sent);
  if (!succeeded) [[unlikely]]
    schedule_.lower_limit(event->key());
  executor.release(event);
  if (!succeeded) return;
  schedule_.push(sent);
  ++finished_;
}

/// Executes the lowest event first, as the sequential engine does: no other event is in progress,
/// so none can be overtaken, and finished events are final.
bool ExpandedRun::run_in_place() {
  Executor& executor = *executors_[0];
  const auto events = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(tuner_.between_looks(), block_.end_events - finished_));
  do {
    std::uint32_t executed = 0;
    if (!loop::execute_in_order(
            schedule_, executed, [&] { return executed < events; },
            [this](const Event& event) { return schedule_.is_within_limit(event); },
            [&](Event * event)
                __attribute__((always_inline)) { execute_in_place(executor, event); }))
      return false;
  } while (!block_is_over() && !goal_.is_asked());
  return true;
}

/// Called between blocks: updates RunControl, checks for a request to stop, hands rows over.
void ExpandedRun::poll() {
  check_workers();
  const Key safe = std::min(schedule_.lowest_unfinished(), std::max(last_key(), world_.cut));
  control_.publish(safe.time(), world_.committed + finished_, world_.executed + finished_,
                   memory_bytes());
  // A failed event counts as finished, but the events after it may have to be taken back.
  if (finished_events_.is_long())
    finished_events_.forget(std::min(schedule_.lowest_unfinished(), schedule_.limit()),
                            world_.trail);
  // The run is to end where all events up to the highest key that was started are finished.
  const bool stops = control_.stop_requested.load(std::memory_order_relaxed);
  if (!stops && goal_.reached_for_good(finished_, schedule_.pending())) pauses_ = true;
  if (stops || pauses_) schedule_.lower_limit(last_key());
  if (dead_timer_count_.are_many(cancelled_timers_, schedule_.pending())) reclaim();
  if (const std::uint64_t now = read_cycles(); has_rows_ && now >= rows_due_cycles_) {
    rows_due_cycles_ = now + cycles_in(kRowsSeconds);
    hand_rows_over();
  }
}

/// Takes cancelled timers out of the pending event set before their time comes.
void ExpandedRun::reclaim() {
  drain();
  schedule_.erase_if([this](Event* event) {
    if (!executors_[0]->is_dead_timer(*event)) return false;
    executors_[0]->release(event);
    return true;
  });
  dead_timer_count_.note_reclaimed(cancelled_timers_);
}

/// Hands over the rows of events before all unfinished ones. Rows of the last instant wait, so that
/// the rows of finish() do not come behind a watermark.
void ExpandedRun::hand_rows_over() {
  drain();
  const Key instant = std::max(Key::start_of(last_key().time()), world_.cut);
  const Key until = std::min(schedule_.lowest_unfinished(), instant);
  commit_rows(std::min(until, schedule_.limit()));
  control_.rows->advance(0, until);
}

/// Hands over rows with keys before `until`, in the order of their keys; the others are kept.
void ExpandedRun::commit_rows(const Key& until) {
  for (const auto& executor : executors_) rows_.take(executor->rows);
  rows_.commit(until, *control_.rows);
}

}  // namespace orrery::expanded
