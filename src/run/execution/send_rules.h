// SPDX-License-Identifier: Apache-2.0
//
// The only code that makes keys of sends and refuses sends, so that the same sends get the same
// keys, and the same error messages, on every engine.
#pragma once

#include <cstdint>
#include <string>

#include "core/key.h"
#include "orrery/model.h"
#include "orrery/payload.h"
#include "run/execution/promises.h"

namespace orrery {

/// Throws the ModelFault for a refused send; its text says which rule was broken.
[[noreturn]] void refuse_send(const Model& model, LpId destination, Duration delay,
                              Duration minimum_delay, Time now, LpId lp_count,
                              std::uint32_t microstep, std::uint32_t livelock_limit);
/// The same for a send that breaks a promise of the model.
[[noreturn]] void refuse_broken_promise(const Model& model, const Promises& promises, LpId sender,
                                        LpId destination, Duration delay);
/// Its text: "it sent an event to LP 7 with the delay 3 ns, but ...".
std::string broken_promise_text(const Model& model, const Promises& promises, LpId sender,
                                LpId destination, Duration delay);

/// The same for a send without delay that names an earlier phase than that of its cause.
[[noreturn]] void refuse_phase(const Model& model, LpId destination, unsigned phase,
                               unsigned phase_of_cause);

/// Throws the ModelFault for a payload that is too large.
[[noreturn]] void refuse_payload(const Model& model, LpId destination,
                                 const detail::PayloadParts& parts);
inline void check_payload(const Model& model, LpId destination, const detail::PayloadParts& parts) {
  const std::size_t bytes = parts.event_bytes + parts.bytes.size();
  const bool expanded = parts.has_trailer && parts.trailer >= 0;
  if (bytes > detail::kExpandedBytesLimit &&
      (expanded || parts.size() >= detail::kPayloadBytesLimit)) [[unlikely]]
    refuse_payload(model, destination, parts);
}

/// Key of an event sent at `cause` with `delay`, or refuse_send. `sequence`: the sender's send
/// count after this send. `minimum_delay`: the duration of the event being handled. `phase`: that the
/// send names, or detail::kNoPhase.
[[gnu::always_inline]] inline Key key_of_send(const Model& model, const Promises& promises,
                                              const Key& cause, LpId sender, std::uint64_t sequence,
                                              LpId destination, LpId lp_count, Duration delay,
                                              Duration minimum_delay, std::uint32_t livelock_limit,
                                              int phase = detail::kNoPhase) {
  std::int64_t ticks;
  const bool overflow =
      __builtin_add_overflow(cause.time().ticks(), delay.ticks(), &ticks) || ticks == INT64_MAX;
  std::uint32_t step = delay.ticks() == 0 ? cause.step() + 1 : 0;
  std::uint32_t microstep = delay.ticks() == 0 ? cause.microstep() + 1 : 0;
  if (phase != detail::kNoPhase) {
    const auto named = static_cast<unsigned>(phase);
    if (delay.ticks() == 0 && named < cause.phase())
      refuse_phase(model, destination, named, cause.phase());
    if (delay.ticks() != 0 || named != cause.phase()) {
      step = Key::first_step_of(named);
      microstep = 0;
    }
  }
  if (delay < minimum_delay || overflow || destination >= lp_count || microstep > livelock_limit ||
      sequence > Key::kMaxSequence) [[unlikely]] {
    refuse_send(model, destination, delay, minimum_delay, cause.time(), lp_count, microstep,
                livelock_limit);
  }
  if (delay < promises.free_delay() && destination != sender)
    if (!promises.allow_looking(sender, destination, delay)) [[unlikely]]
      refuse_broken_promise(model, promises, sender, destination, delay);
  return Key(Time::from_ticks(ticks), step, sender, sequence);
}

}  // namespace orrery
