// SPDX-License-Identifier: Apache-2.0
#include "run/survey/duration_survey.h"

#include <algorithm>
#include <tuple>

#include "core/type_name.h"
#include "run/containment/faults.h"

namespace orrery {

std::optional<Duration> EventDelays::longest() const {
  if (!to_itself || !to_others) return to_itself ? to_itself : to_others;
  return std::min(*to_itself, *to_others);
}

void DurationSurvey::begin(const LogicalProcessBase& lp, EventTypeId type, Duration duration) {
  const auto [found, is_new] = kinds_.try_emplace({typeid(lp), type});
  current_ = &found->second;
  if (is_new) {
    current_->lp = short_type_name(typeid(lp));
    current_->event = name_of_event(lp, type);
    current_->duration = duration;
  }
  ++current_->events;
  current_->duration = std::min(current_->duration, duration);
}

void DurationSurvey::note_send(Duration delay, bool to_itself) {
  if (current_ == nullptr) return;
  std::optional<Duration>& smallest = to_itself ? current_->to_itself : current_->to_others;
  smallest = std::min(smallest.value_or(delay), delay);
}

std::vector<EventDelays> DurationSurvey::delays() const {
  std::vector<EventDelays> all;
  for (const auto& [key, kind] : kinds_) all.push_back(kind);
  std::sort(all.begin(), all.end(), [](const EventDelays& a, const EventDelays& b) {
    return std::tie(a.lp, a.event) < std::tie(b.lp, b.event);
  });
  return all;
}

}  // namespace orrery
