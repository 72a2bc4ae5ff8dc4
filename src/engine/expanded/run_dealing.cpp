// SPDX-License-Identifier: Apache-2.0
//
// ExpandedRun: hands events to workers.
//
// The lock guards the schedule, the history and the server's side of all slots. It is a flag, taken
// with acquire and given back with release, so that each holder sees the changes of the one before.
// The coordinator holds it at all times but while it executes events or waits for some. It serves
// the slots after each batch of its own, so workers rarely run out of events, and the schedule stays
// in the caches of one core. A worker without events serves the slots itself if the lock is free:
// else all workers would wait for the end of a long event of the coordinator's. The lock is a
// combining one (Hendler, Incze and Shavit): a worker that another thread has served need not take
// it.
#include "engine/expanded/run.h"

namespace orrery::expanded {

/// Executes and deals until the block is over. False if no event may start any more and none is in
/// progress.
bool ExpandedRun::run_dealt() {
  for (;;) {
    const std::uint32_t last = slots_[0].take_calls();
    check_workers();
    serve(0);
    if (block_is_over()) return true;
    if (schedule_.in_progress() == 0) return false;
    execute_own(last);
  }
}

/// Executes and collects until no event is in progress.
void ExpandedRun::drain() {
  block_ = {};  // it is over: nothing is dealt
  for (;;) {
    const std::uint32_t last = slots_[0].take_calls();
    check_workers();
    serve(0);
    if (schedule_.in_progress() == 0) return;
    execute_own(last);
  }
}

/// Executes up to a batch of the coordinator's events. If it has none, waits until its word is not
/// `last`: until it gets some, or is called.
void ExpandedRun::execute_own(std::uint32_t last) {
  Slot& own = slots_[0];
  const std::uint32_t word = own.word.load(std::memory_order_acquire);
  if (!own.is_done(word) && block_.batch > 1) return execute_own_batch(word);
  const Lock::Open open(lock_);
  if (own.is_done(word)) {
    wait_for_word(0, last);
  } else {
    execute_given(0, word, 1);
  }
}

/// Executes short events of the coordinator's without opening the lock, until a worker has results,
/// which may need events. Of these events some are measured.
void ExpandedRun::execute_own_batch(std::uint32_t word) {
  Slot& own = slots_[0];
  const auto is_waited_for = [this] {
    return std::any_of(&slots_[1], &slots_[workers_],
                       [](const Slot& slot) { return slot.has_results(); });
  };
  std::uint32_t at = own.done.load(std::memory_order_relaxed), executed = 0;
  do {
    const bool measured = at % kSampleEvents == 0;
    const std::uint64_t start = measured ? read_cycles() : 0;
    const Result result = executors_[0]->execute(own.ring[Slot::place(at)]);
    if (measured) own.add_busy((read_cycles() - start) * kSampleEvents);
    finish(own.handles[Slot::place(at)], result);
    at = (at + 1) & Slot::kCounterMask;
    own.served.store(at, std::memory_order_relaxed);
    own.done.store(at, std::memory_order_relaxed);
  } while (++executed < block_.batch && !own.is_done(word) && !is_waited_for());
}

/// Executes events that `word` announces, `most` at most.
void ExpandedRun::execute_given(unsigned worker, std::uint32_t word, std::uint32_t most) {
  Slot& slot = slots_[worker];
  Executor& executor = *executors_[worker];
  std::uint32_t at = slot.done.load(std::memory_order_relaxed);
  const std::uint32_t events = std::min(Slot::distance(at, Slot::count_of(word)), most);
  if (events == 0) return;
  const std::uint64_t start = read_cycles();
  TraceSpan span(executor.lane(), TraceKind::batch);
  span.set_count(events);
  for (std::uint32_t n = 0; n < events; ++n, at = (at + 1) & Slot::kCounterMask)
    slot.results[Slot::place(at)] = executor.execute(slot.ring[Slot::place(at)]);
  slot.add_busy(read_cycles() - start);
  slot.done.store(at, std::memory_order_seq_cst);
}

void ExpandedRun::work(unsigned worker) {
  for (std::uint32_t word = 0;;) {
    word = wait_for_word(worker, word);
    execute_given(worker, word, kMostInSlot);
    if ((word & Slot::kLeave) != 0) return;
    get_served(worker, word);
  }
}

/// Returns when the worker has been given events, or its results have been taken and all slots
/// served. `word`: its last one.
void ExpandedRun::get_served(unsigned worker, std::uint32_t word) {
  const Slot& slot = slots_[worker];
  const auto is_served = [&] {
    return slot.word.load(std::memory_order_relaxed) != word || !slot.has_results();
  };
  bool locked = false;
  lock_.wait([&] { return is_served() || (locked = lock_.try_lock()); });
  if (!locked) return;
  const std::lock_guard guard(lock_, std::adopt_lock);
  if (is_served()) return;
  serve(worker);
  if (block_is_over() || schedule_.in_progress() == 0) slots_[0].call();
}

std::uint32_t ExpandedRun::wait_for_word(unsigned worker, std::uint32_t last) {
  const TraceSpan span(executors_[worker]->lane(), TraceKind::idle);
  return slots_[worker].wait_for_word(last, waiting_);
}

// Under the lock.

/// Takes all results, and deals events unless the block is over.
void ExpandedRun::serve(unsigned self) {
  for (unsigned worker = 0; worker < workers_; ++worker) collect(slots_[worker]);
  if (!block_is_over()) deal(self);
}

/// Enters the results of an event that was in progress in the schedule.
inline void ExpandedRun::finish(std::uint32_t handle, const Result& result) {
  const auto& active = schedule_.active(handle);
  cancelled_timers_ += result.cancelled_timers;
  if (result.state == Result::State::done) [[likely]] {
    finished_events_.add(active.key, active.lp, result.hash_before);
    ++finished_;
    schedule_.push(result.sent);
  } else if (result.state == Result::State::failed) {
    schedule_.lower_limit(active.key);
  } else if (result.state == Result::State::dead_timer) {
    dead_timer_count_.note_dropped();
  }
  schedule_.finish(handle);
}

/// Takes the results in a slot. Memory orders: see slot.h.
void ExpandedRun::collect(Slot& slot) {
  const std::uint32_t done = slot.done.load(std::memory_order_acquire);
  std::uint32_t served = slot.served.load(std::memory_order_relaxed);
  if (served == done) return;
  for (; served != done; served = (served + 1) & Slot::kCounterMask) {
    const std::uint32_t next = (served + 1) & Slot::kCounterMask;
    if (next != done) __builtin_prefetch(slot.results[Slot::place(next)].sent);
    finish(slot.handles[Slot::place(served)], slot.results[Slot::place(served)]);
  }
  slot.served.store(served, std::memory_order_release);
}

/// Deals the events that may start, in the order of their keys, evenly to all slots that have room
/// for a batch: a slot holds a batch in execution and a batch that waits.
void ExpandedRun::deal(unsigned self) {
  std::uint32_t wanted = find_room(self);
  if (wanted == 0) return;
  schedule_.begin_round();
  for (; wanted > 0; --wanted) {
    const auto choice = schedule_.next([this](unsigned other) { return deal_.room[other] > 0; });
    if (choice.event == nullptr) break;
    const unsigned worker =
        choice.worker != Schedule::kAnyWorker ? choice.worker : pick(choice.event->receiver, self);
    slots_[worker].give(choice.event, schedule_.start(choice, worker));
    --deal_.room[worker];
    if (worker != self) ++handed_over_;
  }
  for (const unsigned worker : deal_.open) slots_[worker].publish();
}

/// Fills `deal_.open` and `deal_.room`; returns the sum of the rooms.
std::uint32_t ExpandedRun::find_room(unsigned self) {
  deal_.open.clear();
  deal_.turn = 0;
  for (unsigned i = 1; i <= workers_; ++i) {
    const unsigned worker = (self + i) % workers_;
    deal_.room[worker] = slots_[worker].held() <= block_.batch ? block_.batch : 0;
    if (deal_.room[worker] > 0) deal_.open.push_back(worker);
  }
  return static_cast<std::uint32_t>(deal_.open.size()) * block_.batch;
}

/// Chooses a worker for an event of this LP: the one that serves if no event is in progress, since
/// an event that is alone then needs no hand-over; else the next open slot in turn, or the worker
/// that executed the LP's last event if that has no less room.
unsigned ExpandedRun::pick(LpId lp, unsigned self) {
  if (schedule_.in_progress() == 0) return self;
  while (deal_.room[deal_.open[deal_.turn]] == 0) deal_.turn = (deal_.turn + 1) % deal_.open.size();
  const unsigned next = deal_.open[deal_.turn];
  const unsigned home = schedule_.home(lp);
  if (home != next && deal_.room[home] >= deal_.room[next]) return home;
  deal_.turn = (deal_.turn + 1) % deal_.open.size();
  return next;
}

}  // namespace orrery::expanded
