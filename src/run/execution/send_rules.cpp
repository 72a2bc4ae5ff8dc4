// SPDX-License-Identifier: Apache-2.0
#include "run/execution/send_rules.h"

#include <fmt/format.h>

#include "core/duration_text.h"
#include "orrery/error.h"
#include "run/containment/faults.h"
#include "run/containment/lp_names.h"

namespace orrery {

void refuse_send(const Model& model, LpId destination, Duration delay, Duration minimum_delay,
                 Time now, LpId lp_count, std::uint32_t microstep, std::uint32_t livelock_limit) {
  if (destination >= lp_count) {
    throw ModelFault(fmt::format("it sent an event to LP {}, but the model has LPs 0 to {}",
                                 destination, lp_count - 1));
  }
  if (delay.ticks() < 0) {
    throw ModelFault(
        fmt::format("it sent an event to {} with the negative delay {}; a delay is 0 or more",
                    lp_text(model, destination), duration_text(delay, model.tick_seconds())));
  }
  if (delay < minimum_delay) {
    throw ModelFault(fmt::format(
        "it sends an event to {} {} after its start, before its own end at {}; an expanded "
        "event's sends leave at its end or later: use a delay of at least context.duration()",
        lp_text(model, destination), duration_text(delay, model.tick_seconds()),
        time_text(model, now + minimum_delay)));
  }
  if (microstep > livelock_limit) {
    throw ModelFault(fmt::format(
        "livelock: {} events with zero delay, each the cause of the next, and time stands still at "
        "{}; give one of these sends a delay",
        livelock_limit, time_text(model, now)));
  }
  std::int64_t ticks;
  if (!__builtin_add_overflow(now.ticks(), delay.ticks(), &ticks) && ticks != INT64_MAX) {
    throw ModelFault(fmt::format("it has sent more than {} events", Key::kMaxSequence));
  }
  const std::string text = delay == Duration::max() ? "Duration::max() (which infinite seconds are)"
                                                    : duration_text(delay, model.tick_seconds());
  throw ModelFault(fmt::format(
      "it sent an event to {} with the delay {} at {}: the sum is beyond the clock's range of "
      "{}; do not send an event that never occurs",
      lp_text(model, destination), text, time_text(model, now), time_text(model, Time::max())));
}

void refuse_phase(const Model& model, LpId destination, unsigned phase, unsigned phase_of_cause) {
  throw ModelFault(
      fmt::format("in phase {} it sent an event of phase {} without delay to {}: the effect "
                  "would come before "
                  "its cause; name phase {} or a later one, or give the send a delay",
                  phase_of_cause, phase, lp_text(model, destination), phase_of_cause));
}

void refuse_payload(const Model& model, LpId destination, const detail::PayloadParts& parts) {
  const bool expanded = parts.has_trailer && parts.trailer >= 0;
  throw ModelFault(fmt::format(
      "it sent an {} of {} bytes to {}; {}", expanded ? "expanded event" : "event",
      parts.event_bytes + parts.bytes.size(), lp_text(model, destination),
      expanded ? "an expanded event is at most 64 KiB" : "an event is less than 1 GiB"));
}

void refuse_broken_promise(const Model& model, const Promises& promises, LpId sender,
                           LpId destination, Duration delay) {
  throw ModelFault(broken_promise_text(model, promises, sender, destination, delay));
}

std::string broken_promise_text(const Model& model, const Promises& promises, LpId sender,
                                LpId destination, Duration delay) {
  const std::optional<Duration> least = promises.minimum_delay(sender, destination);
  if (!least) {
    return fmt::format(
        "it sent an event to {0}, but the model's communication graph is complete() and has no "
        "edge from {1} to {0}",
        lp_text(model, destination), lp_text(model, sender));
  }
  const auto text = [&](Duration duration) {
    return duration_text(duration, model.tick_seconds());
  };
  const std::string sent = fmt::format("it sent an event to {} with the delay {}, but ",
                                       lp_text(model, destination), text(delay));
  if (*least == promises.lookahead())
    return fmt::format("{}Model::lookahead() promises at least {} to every other LP", sent,
                       text(*least));
  return fmt::format("{}the model promises at least {} from {} to {} (CommunicationGraph::connect)",
                     sent, text(*least), lp_text(model, sender), lp_text(model, destination));
}

}  // namespace orrery
