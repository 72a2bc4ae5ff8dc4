// SPDX-License-Identifier: Apache-2.0
//
// The loop over events in the order of their keys, for all engines: takes the lowest event from a
// pending event set and executes it, as long as the engine allows. The engine's policy is three
// functions: whether the loop goes on, whether the lowest event may begin, and what executing it
// means. All are inlined.
//
// `executed` belongs to the caller, since a crash in a handler may leave the loop by a jump
// (core/model_stack.h); the events counted before it stay counted.
#pragma once

namespace orrery::loop {

/// Executes events in the order of their keys. Before each event asks `goes_on()`, then
/// `may_begin(event)` for the lowest event; `execute(event)` owns the event. `pending` has `top()`
/// (nullptr if it is empty) and `pop()`. `executed` counts calls of `execute`. Returns false if no
/// event is left that may begin, and true if `goes_on` ended the loop.
template <class Pending, class Count, class GoesOn, class MayBegin, class Execute>
[[gnu::always_inline]] inline bool execute_in_order(Pending& pending, Count& executed,
                                                    GoesOn&& goes_on, MayBegin&& may_begin,
                                                    Execute&& execute) {
  while (goes_on()) {
    auto* const event = pending.top();
    if (event == nullptr || !may_begin(*event)) return false;
    pending.pop();
    execute(event);
    ++executed;
  }
  return true;
}

}  // namespace orrery::loop
