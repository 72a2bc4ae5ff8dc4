// SPDX-License-Identifier: Apache-2.0
//
// Worker: the making of its LPs, and their state at the end of the run. Included by worker.h only.
#pragma once

namespace orrery::timewarp {

/// All are made before any is started, as on the sequential engine: the first fault is the same.
/// False if the set-up has failed on some worker.
template <class Pending>
bool Worker<Pending>::set_up() {
  const std::uint64_t start = read_cycles();
  create_lps();
  if (!shared_.team.end_step()) return false;
  start_lps();
  if (!shared_.team.end_step()) return false;
  accept_lps();
  if (!shared_.team.end_step()) return false;
  set_up_seconds_ = static_cast<double>(read_cycles() - start) / cycles_per_second();
  return true;
}

/// Runs `action` in the application mode of LP `id`; notes what it throws.
template <class Pending>
template <class Action>
bool Worker<Pending>::set_up_lp(int phase, LpId id, Action&& action) {
  return guarded_call(lps_.heap(id), action, [&] {
    try {
      throw;
    } catch (const UsageError& error) {
      shared_.team.note_failure({phase, id, true, error.what()});
    } catch (...) {
      shared_.team.note_failure(
          {phase, id, false, describe_current_exception(shared_.model, id, {}, Time::zero())});
    }
  });
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
    if (!set_up_lp(0, id, [&] { lp.object = create_lp(shared_.model, id).release(); })) return;
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
    if (!set_up_lp(1, id, [&] { executor_.start(id, lp); })) return;
    lp.one_chunk = lps_.heap(id).single_chunk() && memory::chunk_bytes_at(lp.object) > 0;
    if (speculative_) history_.adopt(id, lp);
    state_bytes += lps_.heap(id).live_bytes();
  }
  shared_.state_bytes.fetch_add(state_bytes, std::memory_order_relaxed);
  memory::thread_context.heap_grew = false;
  if (speculative_) mailbox_.flush();
}

/// The run cannot be what was asked for, now that the LPs are known.
template <class Pending>
void Worker<Pending>::accept_lps() {
  if (index_ != 0) return;
  const std::uint64_t state_bytes = shared_.state_bytes.load(std::memory_order_relaxed);
  if (shared_.settings.strategy.name == checkpoint::Strategy::Name::reverse &&
      !shared_.any_reversible.load(std::memory_order_relaxed)) {
    shared_.team.note_failure(
        {2, 0, true,
         "--checkpoint reverse: no LP of this model has reverse handlers (orrery/reverse.h); "
         "choose another strategy, or auto"});
  } else if (state_bytes > shared_.memory_budget_bytes) {
    shared_.team.note_failure({2, 0, true,
                               "the states of the model's LPs take " + std::to_string(state_bytes) +
                                   " bytes, more than the memory budget of " +
                                   std::to_string(shared_.memory_budget_bytes) +
                                   "; raise --memory or use fewer LPs"});
  }
}

/// Leaves the LPs in the state at which the run ended.
template <class Pending>
void Worker<Pending>::end_run() {
  refusals_ = {memory::thread_context.refusals, memory::thread_context.refused_bytes};
  for (std::size_t i = 0; i < history_.active().size(); ++i)
    rollback_.restore_state(history_.active()[i], ending().reached);
  history_.settle();
}

}  // namespace orrery::timewarp
