// SPDX-License-Identifier: Apache-2.0
//
// Worker: its life from the making of its LPs to the end of the run. Included by worker.h only.
#pragma once

namespace orrery::timewarp {

template <class Pending>
Worker<Pending>::Worker(Shared& shared, unsigned index)
    : shared_(shared),
      model_(shared.model),
      index_(index),
      speculative_(shared.workers > 1 || shared.offload.on() || !shared.strategy.automatic()),
      lps_(shared.lps),
      arena_(*shared.arenas[index]),
      pool_(shared.depot, arena_),
      keeper_(blocks_, shared.strategy, shared.offload, shared.copy_queue(index)),
      optimism_(shared.settings.window_ticks, shared.memory_budget_bytes),
      has_rows_(shared.control.rows != nullptr && !shared.model.tables().empty()),
      trail_(shared.options.livelock_microsteps),
      interval_(shared.strategy.interval()),
      backoff_(shared.crowded) {
  blocks_.use_arena(arena_);
  if (index == 0 && shared.cache.automatic && shared.cache.colouring.on)
    cache_tuning_.emplace(shared.cache);
  horizon_ = horizon_from(Time::zero());
  lp_count_ = static_cast<LpId>(lps_.count());
  metric_count_ = static_cast<std::uint32_t>(model_.metrics().size());
  const bool fixed_period = shared.settings.gvt_period_us > 0;
  const std::uint64_t period_us = fixed_period ? shared.settings.gvt_period_us : kGvtPeriodUs;
  period_events_ = fixed_period ? 0 : kGvtEvents * shared.workers;
  period_cycles_ =
      static_cast<std::uint64_t>(cycles_per_second() * 1e-6 * static_cast<double>(period_us));
  batch_cycles_limit_ = static_cast<std::uint64_t>(cycles_per_second() * kBatchSeconds);
}

template <class Pending>
Worker<Pending>::~Worker() {
  for (const LpId id : active_)
    if (lps_[id].active && !lps_[id].kept) lps_[id].rest(blocks_);
  for (const LpId id : kept_lps_) {
    keeper_.release_all(kept(id, lps_[id]));
    lps_[id].forget_history(blocks_);
  }
}

template <class Pending>
void Worker<Pending>::run() {
  memory::prepare_worker_thread();
  memory::thread_context.on_misuse = note_heap_misuse;
  if (shared_.settings.deny_oversize)
    memory::thread_context.denies_above_bytes = memory::kBlockBytes;
  if (shared_.bind && !bind_to_core(index_)) bind_failed_ = true;
  const std::uint64_t start = read_cycles();
  // All are made before any is started, as on the sequential engine: the first fault is the same.
  create_lps();
  if (!end_set_up_step(0)) return;
  start_lps();
  if (!end_set_up_step(1) || !accept_set_up()) return;
  set_up_seconds_ = static_cast<double>(read_cycles() - start) / cycles_per_second();
  adopted_cycles_ = read_cycles();
  if (speculative_) {
    loop();
  } else {
    loop_alone();
  }
  end_run();
}

/// Runs `action` in the application mode of LP `id`; notes what it throws.
template <class Pending>
template <class Action>
bool Worker<Pending>::guarded(int phase, LpId id, Action&& action) {
  heap_misuse().seen = false;
  memory::enter_application_mode(lps_.heap(id));
  try {
    action();
    if (heap_misuse().seen) throw ModelFault(heap_misuse().sentence());
    memory::leave_application_mode();
    return true;
  } catch (const UsageError& error) {
    memory::leave_application_mode();
    set_up_failure_ = SetUpFailure{phase, id, true, error.what()};
    memory::enter_application_mode(lps_.heap(id));
  } catch (...) {
    memory::leave_application_mode();
    set_up_failure_ =
        SetUpFailure{phase, id, false, describe_current_exception(model_, id, {}, Time::zero())};
    memory::enter_application_mode(lps_.heap(id));
  }
  memory::leave_application_mode();
  shared_.set_up_failed[phase].store(true, std::memory_order_relaxed);
  return false;
}

/// Waits for the others; false if the step failed for any of them.
template <class Pending>
bool Worker<Pending>::end_set_up_step(int phase) {
  shared_.set_up.arrive_and_wait();
  return !shared_.set_up_failed[phase].load(std::memory_order_relaxed);
}

/// False, and noted, if the run cannot be what was asked for, now that the LPs are known.
template <class Pending>
bool Worker<Pending>::accept_set_up() {
  std::string why;
  const std::uint64_t state_bytes = shared_.state_bytes.load(std::memory_order_relaxed);
  if (shared_.strategy.name == checkpoint::Strategy::Name::reverse &&
      !shared_.any_reversible.load(std::memory_order_relaxed)) {
    why =
        "--checkpoint reverse: no LP of this model has reverse handlers (orrery/reverse.h); "
        "choose another strategy, or auto";
  } else if (state_bytes > shared_.memory_budget_bytes) {
    why = "the states of the model's LPs take " + std::to_string(state_bytes) +
          " bytes, more than the memory budget of " + std::to_string(shared_.memory_budget_bytes) +
          "; raise --memory or use fewer LPs";
  }
  if (why.empty()) return true;
  set_up_failure_ = SetUpFailure{2, 0, true, std::move(why)};
  return false;
}

/// Makes the worker's LPs, each in its own heap.
template <class Pending>
void Worker<Pending>::create_lps() {
  const auto count = static_cast<LpId>(lps_.count());
  for (LpId id = 0; id < count; ++id)
    if (shared_.owners[id] == index_) lps_.construct(id, arena_);
  constructed_ = true;
  bool reversible = false;
  for (LpId id = 0; id < count; ++id) {
    if (shared_.owners[id] != index_) continue;
    LpState& lp = lps_[id];
    if (!guarded(0, id, [&] { lp.object = create_lp(model_, id).release(); })) return;
    reversible |= lp.object->reversible();
  }
  if (reversible) shared_.any_reversible.store(true, std::memory_order_relaxed);
}

template <class Pending>
void Worker<Pending>::start_lps() {
  const auto count = static_cast<LpId>(lps_.count());
  std::uint64_t state_bytes = 0;
  for (LpId id = 0; id < count; ++id) {
    if (shared_.owners[id] != index_) continue;
    LpState& lp = lps_[id];
    begin(id, Key::start_of(Time::zero()), lp);
    if (!guarded(1, id, [&] { lp.object->start(*this); })) return;
    end(lp);
    lp.one_chunk = lps_.heap(id).single_chunk() && memory::chunk_bytes_at(lp.object) > 0;
    if (speculative_) adopt_if_large(id, lp, lps_.heap(id).image_bytes());
    state_bytes += lps_.heap(id).live_bytes();
  }
  shared_.state_bytes.fetch_add(state_bytes, std::memory_order_relaxed);
  memory::thread_context.heap_grew = false;
  if (speculative_) flush();
}

template <class Pending>
void Worker<Pending>::loop() {
  for (;;) {
    const bool received = drain();
    if (step_gvt()) return;
    const std::uint64_t start = read_cycles();
    const std::uint32_t executed = run_batch(batch_events_);
    flush();
    idle_ = executed == 0;
    if (!idle_) {
      adapt_batch(executed, read_cycles() - start);
      backoff_.reset();
    } else if (!received) {
      ++statistics_.idle_polls;
      backoff_.wait();
    }
  }
}

/// Executes up to `limit` events before the horizon; returns how many.
template <class Pending>
std::uint32_t Worker<Pending>::run_batch(std::uint32_t limit) {
  std::uint32_t executed = 0;
  const Time horizon = execution_limit();
  while (executed < limit) {
    TwEvent* event = pending_.top();
    if (event == nullptr || event->time() >= horizon) break;
    pending_.pop();
    prefetch_upcoming();
    latest_ticks_ = std::max(latest_ticks_, event->time().ticks());
    handle(event);
    ++executed;
    if (!speculative_ && !faults_.empty()) [[unlikely]]
      break;
  }
  return executed;
}

/// Brings what the next events need nearer: the LP's state, then what that points to.
template <class Pending>
void Worker<Pending>::prefetch_upcoming() {
  for (const std::size_t distance : {2, 5}) {
    const TwEvent* later = pending_.upcoming(distance);
    if (later == nullptr) continue;
    __builtin_prefetch(&lps_[later->receiver], 1);
    // The pending set asks for an event's first line only.
    __builtin_prefetch(later->payload() + TwEvent::kInlinePayloadBytes);
  }
  for (const std::size_t distance : {0, 2}) {
    if (const TwEvent* soon = pending_.upcoming(distance))
      __builtin_prefetch(lps_[soon->receiver].object, 1);
  }
}

/// Where execution stops for now: the window's end, or next to GVT if this worker has come to hold
/// more than its part of the memory budget since the last round. A worker that is held up in a long
/// event delays the round; the others must not fill the memory meanwhile.
template <class Pending>
Time Worker<Pending>::execution_limit() const {
  if (!speculative_) return shared_.options.until;
  const auto part = static_cast<std::int64_t>(shared_.memory_budget_bytes / shared_.workers);
  const std::int64_t held = memory_bytes();
  const bool growing = held > part && held > adopted_memory_bytes_ + adopted_memory_bytes_ / 4;
  if (!growing) [[likely]]
    return horizon_;
  return std::min(horizon_, gvt_.time() + Duration::from_ticks(1));
}

/// A batch lasts about kBatchSeconds: long enough to make polling cheap, short enough that what it
/// sends is not late.
template <class Pending>
void Worker<Pending>::adapt_batch(std::uint32_t executed, std::uint64_t cycles) {
  const double each = static_cast<double>(cycles) / executed;
  event_cycles_ = event_cycles_ == 0 ? each : 0.95 * event_cycles_ + 0.05 * each;
  const double fitting = static_cast<double>(batch_cycles_limit_) / std::max(event_cycles_, 1.0);
  batch_events_ = static_cast<std::uint32_t>(std::clamp(fitting, 1.0, double{kBatchEvents}));
}

/// The loop of a worker that has no peers.
template <class Pending>
void Worker<Pending>::loop_alone() {
  for (;;) {
    const std::uint32_t executed = run_batch(kPollEventsAlone);
    const TwEvent* next = pending_.top();
    gvt_ = next == nullptr ? Key::infinity() : next->key();
    if (!faults_.empty()) gvt_ = faults_.front().key;
    GvtReport sum;
    sum.lowest = gvt_;
    sum.executed = sum.committed = statistics_.executed;
    sum.memory_bytes = memory_bytes();
    adjust(sum);
    if (has_rows_) hand_rows_over(gvt_);
    if (!faults_.empty()) {
      ending_ = {RunEnd::fault, gvt_};
      return;
    }
    if (executed == 0) {
      ending_ = {RunEnd::completed, gvt_};
      return;
    }
    if (shared_.control.stop_requested.load(std::memory_order_relaxed)) {
      ending_ = {RunEnd::interrupted, gvt_};
      return;
    }
  }
}

/// Leaves the LPs in the state at which the run ended. What the undone events sent is not
/// cancelled: nobody executes any more.
template <class Pending>
void Worker<Pending>::end_run() {
  ending_run_ = true;
  statistics_.refusals = memory::thread_context.refusals;
  statistics_.refused_bytes = memory::thread_context.refused_bytes;
  for (std::size_t i = 0; i < active_.size(); ++i) roll_back(active_[i], ending_.reached);
  for (const LpId id : kept_lps_) keeper_.settle(kept(id, lps_[id]));
}

}  // namespace orrery::timewarp
