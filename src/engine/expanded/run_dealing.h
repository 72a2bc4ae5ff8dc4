// SPDX-License-Identifier: Apache-2.0
//
// ExpandedRun: the coordinator deals events to workers and to itself. Included by run.h only.
#pragma once

namespace orrery::expanded {

/// Single: a slot holds one event. Batched: a slot holds a batch in execution and a batch that
/// waits, so that a worker need not wait while the coordinator executes an event of its own.
template <class Pending>
typename ExpandedRun<Pending>::Plan ExpandedRun<Pending>::plan() const {
  if (mode_ == Mode::single) return {1, 1, kSampleEvents};
  const std::uint32_t events = tuner_.batch();
  return {events, 2 * events, events > kSampleEvents / 2 ? kSampleEvents : 1};
}

/// Deals the events that may start, in the order of their keys, evenly to all slots that have room;
/// returns how many. A thread that has executed an LP's last event is preferred for its next one. A
/// single event, with no other in progress, goes to `self`: it then needs no hand-over.
template <class Pending>
std::uint32_t ExpandedRun<Pending>::deal(const Plan& plan, unsigned self) {
  const std::uint32_t wanted = find_room(plan, self);
  if (wanted == 0) return 0;
  std::uint32_t dealt = 0;
  unsigned worker = self;
  bool anywhere = true;
  schedule_.begin_round();
  for (; dealt < wanted; ++dealt) {
    const auto choice = schedule_.next([this](unsigned other) { return deal_.room[other] > 0; });
    if (choice.event == nullptr) break;
    worker = choice.worker != Schedule<Pending>::kAnyWorker ? choice.worker
                                                            : pick(choice.event->receiver);
    slots_[worker].give(choice.event, schedule_.start(choice, worker));
    --deal_.room[worker];
    if (worker != self) ++handed_over_;
    anywhere = choice.worker == Schedule<Pending>::kAnyWorker;
  }
  const bool alone = dealt == 1 && schedule_.in_progress() == 1;
  if (alone && anywhere && worker != self) take_over(worker, self);
  for (const unsigned other : deal_.open)
    if (other != self && slots_[other].given != slots_[other].published)
      slots_[other].publish(command_);
  return dealt;
}

/// Fills `deal_.open` and `deal_.room`; returns the sum of the rooms.
template <class Pending>
std::uint32_t ExpandedRun<Pending>::find_room(const Plan& plan, unsigned self) {
  deal_.open.clear();
  deal_.turn = 0;
  std::uint32_t sum = 0;
  for (unsigned i = 0; i < workers_; ++i) {
    const unsigned worker = (self + 1 + i) % workers_;
    deal_.room[worker] = slots_[worker].held() + plan.events <= plan.depth ? plan.events : 0;
    if (deal_.room[worker] > 0) deal_.open.push_back(worker);
    sum += deal_.room[worker];
  }
  return sum;
}

/// Moves the event that was given last to `from`, and is not published yet, to `to`.
template <class Pending>
void ExpandedRun<Pending>::take_over(unsigned from, unsigned to) {
  const auto [event, handle] = slots_[from].take_back();
  schedule_.move(handle, to);
  slots_[to].give(event, handle);
  --handed_over_;
}

/// The next open slot in turn, or the LP's home (Schedule::home) if that has no less room.
template <class Pending>
unsigned ExpandedRun<Pending>::pick(LpId lp) {
  while (deal_.room[deal_.open[deal_.turn]] == 0) deal_.turn = (deal_.turn + 1) % deal_.open.size();
  const unsigned next = deal_.open[deal_.turn];
  const unsigned home = schedule_.home(lp);
  if (home != next && deal_.room[home] >= deal_.room[next]) return home;
  deal_.turn = (deal_.turn + 1) % deal_.open.size();
  return next;
}

/// Takes the results in a slot; false if there are none. Memory orders: see slot.h.
template <class Pending>
bool ExpandedRun<Pending>::collect(unsigned worker) {
  Slot& slot = slots_[worker];
  const std::uint32_t done = slot.done.load(std::memory_order_acquire);
  std::uint32_t served = slot.served.load(std::memory_order_relaxed);
  if (served == done) return false;
  for (; served != done; served = (served + 1) & Slot::kCounterMask) {
    const Result& next = slot.results[(served + 1) & slot.mask];
    if (((served + 1) & Slot::kCounterMask) != done) __builtin_prefetch(next.sent);
    finish(slot.handles[served & slot.mask], slot.results[served & slot.mask]);
  }
  slot.served.store(served, std::memory_order_release);
  return true;
}

template <class Pending>
bool ExpandedRun<Pending>::collect_all() {
  bool any = false;
  for (unsigned worker = 0; worker < workers_; ++worker) any |= collect(worker);
  return any;
}

template <class Pending>
bool ExpandedRun<Pending>::any_results() const {
  for (unsigned worker = 0; worker < workers_; ++worker)
    if (slots_[worker].has_results()) return true;
  return false;
}

template <class Pending>
bool ExpandedRun<Pending>::run_dealt() {
  const Plan plan = this->plan();
  do {
    collect_all();
    deal(plan, 0);
    if (slots_[0].held() > 0) {
      run_own(plan);
    } else if (schedule_.in_progress() > 0) {
      const TraceSpan span(executors_[0]->lane(), TraceKind::idle);
      doorbell_.wait([this] { return any_results() || team_.failed(); }, waiting_);
      check_workers();
    } else {
      return false;
    }
  } while (!block_is_over());
  return true;
}

/// Executes events that the coordinator dealt to itself, up to a batch, or until a worker has
/// results: that worker may need events.
template <class Pending>
void ExpandedRun<Pending>::run_own(const Plan& plan) {
  for (std::uint32_t n = 0; n < plan.events && slots_[0].held() > 0; ++n) {
    run_own_one(plan);
    if (any_results()) return;
  }
}

template <class Pending>
void ExpandedRun<Pending>::run_own_one(const Plan& plan) {
  Slot& own = slots_[0];
  const bool measured = ++sample_ % plan.sample == 0;
  const std::uint32_t at = own.served.load(std::memory_order_relaxed);
  const std::uint64_t start = measured ? read_cycles() : 0;
  const Result result = executors_[0]->execute(own.ring[at & own.mask]);
  if (measured) own.add_busy((read_cycles() - start) * plan.sample);
  finish(own.handles[at & own.mask], result);
  const std::uint32_t next = (at + 1) & Slot::kCounterMask;
  own.served.store(next, std::memory_order_relaxed);
  own.done.store(next, std::memory_order_relaxed);
}

/// Executes and collects until no event is in progress.
template <class Pending>
void ExpandedRun<Pending>::drain() {
  if (settings_.pull) {
    while (schedule_.in_progress() > 0) collect_from_queue(true);
    return;
  }
  const Plan plan = this->plan();
  while (schedule_.in_progress() > 0) {
    if (slots_[0].held() > 0) {
      run_own_one(plan);
    } else {
      doorbell_.wait([this] { return any_results() || team_.failed(); }, waiting_);
      check_workers();
    }
    collect_all();
  }
}

/// A worker's part: executes the events that `word` announces. Of single events only some are
/// measured.
template <class Pending>
void ExpandedRun<Pending>::execute_given(unsigned worker, std::uint32_t word) {
  Slot& slot = slots_[worker];
  Executor& executor = *executors_[worker];
  std::uint32_t at = slot.done.load(std::memory_order_relaxed);
  const std::uint32_t sample = slot.mask == 0 ? kSampleEvents : 1;
  const bool measured = at % sample == 0;
  const std::uint64_t start = measured ? read_cycles() : 0;
  TraceSpan span(executor.lane(), TraceKind::batch);
  span.set_count((Slot::count_of(word) - at) & Slot::kCounterMask);
  for (const std::uint32_t end = Slot::count_of(word); at != end;
       at = (at + 1) & Slot::kCounterMask) {
    slot.results[at & slot.mask] = executor.execute(slot.ring[at & slot.mask]);
  }
  if (measured) slot.add_busy((read_cycles() - start) * sample);
  slot.done.store(at, std::memory_order_seq_cst);
}

// The queue from which workers pull.

template <class Pending>
bool ExpandedRun<Pending>::run_pulled() {
  do {
    collect_from_queue(false);
    deal_to_queue();
    if (schedule_.in_progress() == 0) return false;
    collect_from_queue(true);
  } while (!block_is_over());
  return true;
}

/// Puts all events that may start into the queue; the coordinator executes none itself.
template <class Pending>
void ExpandedRun<Pending>::deal_to_queue() {
  schedule_.begin_round();
  for (;;) {
    const auto choice = schedule_.next([](unsigned) { return false; });
    if (choice.event == nullptr) return;
    ++handed_over_;
    queue_.put({choice.event, schedule_.start(choice, 0)});
  }
}

template <class Pending>
void ExpandedRun<Pending>::collect_from_queue(bool wait) {
  pulled_.clear();
  queue_.collect(pulled_, wait);
  check_workers();
  for (const auto& finished : pulled_) finish(finished.handle, finished.result);
}

}  // namespace orrery::expanded
