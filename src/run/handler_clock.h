// SPDX-License-Identifier: Apache-2.0
//
// How long the threads of a run have been in the handlers that they are in: asked now and then, it
// compares what it is told with what it was told before.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "run/activity.h"

namespace orrery {

struct LongHandler {
  ModelCode code;
  const ThreadWatch* thread = nullptr;
  double seconds = 0;  ///< since it was first seen
};

class HandlerClock {
 public:
  using Clock = std::chrono::steady_clock;

  explicit HandlerClock(WatchedThreads& threads) : threads_(threads) {}

  /// Asks all threads; the call that has lasted longest, if any thread is in model code. None while
  /// there is no memory to ask with: the run must not end for the sake of who watches it.
  std::optional<LongHandler> look();
  /// What was seen means nothing any more: the run has gone on.
  void forget() { seen_.clear(); }

 private:
  struct Seen {
    WatchedThreads::Sighting sighting;
    Clock::time_point since;
  };
  WatchedThreads& threads_;
  std::vector<Seen> seen_;
};

}  // namespace orrery
