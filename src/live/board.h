// SPDX-License-Identifier: Apache-2.0
//
// The facts about a run in progress, shared between the threads that write them (the engine's main
// thread, at halts; the Watch) and the threads of the server that read them. One lock protects all
// facts. No event waits for the lock: it is taken when a halt examines the world and when a reader
// asks.
//
// The world is examined only as long as a reader asks, and so rarely that the looks take less than
// 1 % of the run's time: the cost of each look is measured, and the next look is requested only
// when a multiple of that cost has passed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "live/lp_map.h"
#include "output/progress.h"
#include "output/progress_log.h"
#include "output/watch.h"
#include "run/engine.h"

namespace orrery::live {

using Json = nlohmann::ordered_json;

/// The world at a halt.
struct Look {
  std::uint64_t number = 0;    ///< from 1
  double wall_seconds = 0;     ///< since the run began
  double since_seconds = 0;    ///< since the look before, or since the begin
  double reached_seconds = 0;  ///< all events before are committed
  Json metrics;                ///< as in a report
  LpMap map;
  std::string picture;  ///< markup; empty: the model has none
};

enum class Phase { starting, running, stopping, ended };
const char* phase_text(Phase phase);

/// How a run ended, for readers of the page.
struct Ending {
  std::string end;       ///< "completed", "interrupted", "fault" or "failed"
  std::string sentence;  ///< the error; may be empty
  std::string reached;
  std::string fingerprint;  ///< empty: none
  Json metrics;             ///< as in a report
};

/// The facts at one time.
struct View {
  Phase phase = Phase::starting;
  std::vector<ProgressPoint> points;  ///< the last one is the present
  ProgressMeter meter{0};
  std::shared_ptr<const Look> look;  ///< null: no look yet
  std::shared_ptr<const Ending> ending;
};

class Board {
 public:
  Board(RunControl& control, double horizon_seconds) : control_(control), meter_(horizon_seconds) {}

  // ---- Called by the thread that runs the engine

  /// `watch` must live until `detach`. `looks`: the run can halt for looks.
  void attach(Watch& watch, bool looks);
  void detach();
  /// `cost_seconds`: duration of the halt.
  void put(Look look, double cost_seconds);
  /// `points`: the samples of the whole run.
  void end(Ending ending, std::vector<ProgressPoint> points);
  /// Ends wait_for_news() for all readers. Before that, waits a fraction of a second until readers
  /// have got the end of the run.
  void dismiss();

  // ---- Called by any thread

  View view();
  /// Returns when there may be news for a reader, at the latest after kNewsPeriod.
  void wait_for_news();
  /// Requests the run to stop. False if no run is attached.
  bool stop();
  /// Requests a look, if the last one is old enough (see above).
  void ask_for_look();

 private:
  using Clock = std::chrono::steady_clock;
  bool is_read(Clock::time_point now) const;

  RunControl& control_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // All members below are protected by mutex_.
  Phase phase_ = Phase::starting;
  Watch* watch_ = nullptr;
  bool looks_ = false;
  ProgressMeter meter_;
  std::vector<ProgressPoint> points_;  ///< the last points from the watch
  std::shared_ptr<const Look> look_;
  std::shared_ptr<const Ending> ending_;
  Clock::time_point look_due_ = Clock::time_point::max();
  Clock::time_point asked_ = Clock::time_point::min();  ///< the last time that a reader asked
  unsigned waiting_ = 0;
  bool told_end_ = false, dismissed_ = false;
};

}  // namespace orrery::live
