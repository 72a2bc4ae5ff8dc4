// SPDX-License-Identifier: Apache-2.0
//
// Durations that the events of a model could have: for each event type the smallest delay of the
// sends of its handlers. An expanded event (Context::schedule_expanded) may last as long as no
// effect of it comes sooner. Like the survey of edges, this one describes one run and proves
// nothing about others.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include "orrery/logical_process.h"
#include "orrery/time.h"

namespace orrery {

/// The events of one type that LPs of one class handled.
struct EventDelays {
  std::string lp, event;  ///< class and type, without namespaces
  std::uint64_t events = 0;
  Duration duration;  ///< the smallest that these events had; zero for ordinary events
  std::optional<Duration> to_itself, to_others;  ///< smallest delays of sends; none: no sends

  /// The longest duration that contradicts no send; none if nothing was sent. Sends of an LP to
  /// itself limit it, too.
  std::optional<Duration> longest() const;
};

class DurationSurvey {
 public:
  /// Notes that `lp` begins to handle an event of this type.
  void begin(const LogicalProcessBase& lp, EventTypeId type, Duration duration);
  /// Notes a send of that handler. Sends before the first begin() have no event as their cause and
  /// are ignored.
  void note_send(Duration delay, bool to_itself);

  /// Sorted by names.
  std::vector<EventDelays> delays() const;

 private:
  std::map<std::pair<std::type_index, EventTypeId>, EventDelays> kinds_;
  EventDelays* current_ = nullptr;
};

}  // namespace orrery
