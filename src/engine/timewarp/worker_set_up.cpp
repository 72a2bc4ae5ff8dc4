// SPDX-License-Identifier: Apache-2.0
//
// Worker: takes its LPs and events at the start of a run, and restores the LPs' states at its end.
#include "engine/timewarp/worker.h"

namespace orrery::timewarp {

void Worker::take_lps() {
  const bool reverse_wanted = shared_.settings.strategy.name == checkpoint::Strategy::Name::reverse;
  std::uint64_t state_bytes = 0;
  bool reversible = false;
  for (LpId id = 0; id < shared_.world.lp_count(); ++id) {
    if (shared_.owners[id] != index_) continue;
    LpState& lp = lps_.take(id, arena_);
    lp.one_chunk = lps_.heap(id).single_chunk() && memory::chunk_bytes_at(lp.object) > 0;
    lp.held = shared_.world.executions().of(id) != LpExecution::speculative;
    if (!lp.held) log_.adopt(id, lp);
    state_bytes += lps_.heap(id).live_bytes();
    reversible |= reverse_wanted && lp.object->reversible();
  }
  if (reversible) shared_.any_reversible.store(true, std::memory_order_relaxed);
  shared_.state_bytes.fetch_add(state_bytes, std::memory_order_relaxed);
  memory::thread_context.heap_grew = false;
}

/// Takes the pending events of the worker's parts of the world. Most are for its own LPs; it sends
/// the others to their workers.
void Worker::take_events() {
  for (unsigned part = 0; part < shared_.world.parts(); ++part) {
    if (shared_.worker_of(part) != index_) continue;
    shared_.world.pending[part].take_all([this](const EventHeader& header, const void* payload) {
      TwEvent* event = nullptr;
      if (mailbox_.send(header, payload, nullptr, event)) pending_.push(event);
    });
  }
  mailbox_.flush();
}

/// Restores the state that the LPs had where the run ended.
void Worker::end_run() {
  log_.for_each_active(
      [this](LpId id, const TwEvent*) { roll_back_one(id, ending_.reached, false); });
  held_.take_back(ending_.reached, [this](const HeldEvents::Final& one) {
    lps_[one.lp].kernel.hash = one.hash_before;
    ++statistics_.rolled_back;
  });
  log_.settle();
}

}  // namespace orrery::timewarp
