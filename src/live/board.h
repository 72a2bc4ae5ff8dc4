// SPDX-License-Identifier: Apache-2.0
//
// What there is to tell of a run that goes on, between those who know it (the thread that runs the
// engine, at halts; the observer) and those who are asked for it (threads of the server). One lock,
// which no event waits for: it is taken when the world is looked at and when somebody asks.
//
// The world is looked at only as long as somebody asks, and seldom enough that it costs the run no
// more than a hundredth of its time: a request for the next look is made when as long a time as
// that has gone by since the last one, whose cost is measured.
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
#include "observe/progress.h"
#include "observe/progress_log.h"
#include "observe/watch.h"
#include "run/engine.h"

namespace orrery::live {

using Json = nlohmann::ordered_json;

/// The world at a halt.
struct Look {
  std::uint64_t number = 0;    ///< from 1
  double wall_seconds = 0;     ///< since the run began
  double since_seconds = 0;    ///< the look before, or the begin
  double reached_seconds = 0;  ///< up to where all is committed
  Json metrics;                ///< as in a report
  LpMap map;
};

enum class Phase { starting, running, stopping, ended };
const char* phase_text(Phase phase);

/// How a run ended, for those who look at it.
struct Ending {
  std::string end;       ///< "completed", "interrupted", "fault" or "failed"
  std::string sentence;  ///< what went wrong; may be empty
  std::string reached;
  std::string fingerprint;  ///< empty: none
  Json metrics;             ///< as in a report
};

/// What is known at a moment.
struct View {
  Phase phase = Phase::starting;
  std::vector<ProgressPoint> points;  ///< the last one is now
  ProgressMeter meter{0};
  std::shared_ptr<const Look> look;  ///< null: there was none
  std::shared_ptr<const Ending> ending;
};

class Board {
 public:
  Board(RunControl& control, double horizon_seconds) : control_(control), meter_(horizon_seconds) {}

  // ---- By the thread that runs the engine

  /// `watch` lives until `detach`. `looks`: the run halts where that is asked for.
  void attach(Watch& watch, bool looks);
  void detach();
  /// `cost_seconds`: of the halt for it.
  void put(Look look, double cost_seconds);
  /// `points`: from its begin to its end.
  void end(Ending ending, std::vector<ProgressPoint> points);
  /// Nobody waits any more, and those who were about to ask have been told how it ended, or a
  /// fraction of a second is over.
  void dismiss();

  // ---- By anybody

  View view();
  /// Lasts until there may be news for a reader.
  void wait_for_news();
  /// Whether there is a run that can be asked.
  bool stop();
  /// As for the reader of a page; see above.
  void ask_for_look();

 private:
  using Clock = std::chrono::steady_clock;
  bool is_read(Clock::time_point now) const;

  RunControl& control_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // All of it under the lock.
  Phase phase_ = Phase::starting;
  Watch* watch_ = nullptr;
  bool looks_ = false;
  ProgressMeter meter_;
  std::vector<ProgressPoint> points_;  ///< the last ones that the watch gave
  std::shared_ptr<const Look> look_;
  std::shared_ptr<const Ending> ending_;
  Clock::time_point look_due_ = Clock::time_point::max();
  Clock::time_point asked_ = Clock::time_point::min();  ///< the last time that somebody did
  unsigned waiting_ = 0;
  bool told_end_ = false, dismissed_ = false;
};

}  // namespace orrery::live
