// SPDX-License-Identifier: Apache-2.0
#include "run/containment/handler_clock.h"

#include <algorithm>
#include <new>
#include <utility>

namespace orrery {

std::optional<LongHandler> HandlerClock::look() try {
  const Clock::time_point now = Clock::now();
  std::vector<Seen> seen;
  for (const WatchedThreads::Sighting& sighting : threads_.look()) {
    const auto same = std::find_if(seen_.begin(), seen_.end(), [&](const Seen& one) {
      return one.sighting.thread == sighting.thread && one.sighting.code == sighting.code;
    });
    seen.push_back({sighting, same == seen_.end() ? now : same->since});
  }
  seen_ = std::move(seen);
  const auto longest = std::min_element(
      seen_.begin(), seen_.end(), [](const Seen& a, const Seen& b) { return a.since < b.since; });
  if (longest == seen_.end()) return std::nullopt;
  return LongHandler{longest->sighting.code, longest->sighting.thread,
                     std::chrono::duration<double>(now - longest->since).count()};
} catch (const std::bad_alloc&) {
  return std::nullopt;
}

}  // namespace orrery
