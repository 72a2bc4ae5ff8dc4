// SPDX-License-Identifier: Apache-2.0
//
// Measures how long the threads of a run have been in their current handlers. It asks the threads
// from time to time and compares the answers with earlier ones.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "run/containment/activity.h"

namespace orrery {

struct LongHandler {
  ModelCode code;
  const ThreadWatch* thread = nullptr;
  double seconds = 0;  ///< since the call was first seen
};

class HandlerClock {
 public:
  using Clock = std::chrono::steady_clock;

  explicit HandlerClock(WatchedThreads& threads) : threads_(threads) {}

  /// Asks all threads; returns the call that has lasted longest, if any thread is in model code.
  /// Returns nothing while memory is short, since observation must not end the run.
  std::optional<LongHandler> look();
  /// Discards earlier answers, since the run has continued meanwhile.
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
