// SPDX-License-Identifier: Apache-2.0
//
// Measures how a model can be run, within a budget of wall-clock time:
//
// 1. A scout, the run itself on the default engine, goes as far as a quarter of the budget lets it.
//    It tells how many events there are by which simulated time, and where it ends it leaves a
//    snapshot: that is the warmed-up state, and the latest that can be had. Where the rate of
//    events has not settled by then, it goes on for as long again.
// 2. Each configuration goes on from there (`orrery fork`) for a moment. Those that are far behind
//    the best are not measured any further.
// 3. The others run in turn, in runs of three lengths, until the budget is used up or the best is
//    known well.
// 4. What it costs to have more executors than cores is measured on the best parallel one.
//
// A run that is over before its share of the budget is measured from a quarter of its events on, a
// very short one as a whole, and one of which no snapshot can be taken from the start.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "advise/calibration.h"
#include "advise/configuration.h"
#include "advise/forecast.h"
#include "advise/offers.h"
#include "advise/runner.h"
#include "advise/status.h"

namespace orrery::advise {

struct Question {
  std::vector<std::string> run_words;    ///< from "run MODEL" on, without engine and workers
  std::vector<std::string> fork_words;   ///< options of these that a fork takes
  std::vector<std::string> pilot_words;  ///< what a pilot is run with instead; empty: no pilot
  std::vector<Configuration> candidates;
  double budget_seconds = 60;
  unsigned cores = 1;
  bool wants_speed = false;  ///< the factor of this machine is to be measured
  bool quiet = false;
};

/// Where measured runs begin.
enum class Begin : std::uint8_t { snapshot, start, whole };

struct Findings {
  nlohmann::ordered_json scout;  ///< its report
  Forecast forecast;
  Begin begin = Begin::snapshot;
  double begin_seconds = 0;  ///< simulated, of the snapshot
  double start_seconds = 0;  ///< that a run takes beside its events
  std::vector<Measured> measured;
  std::optional<Speed> speed;
  std::vector<std::string> notes;
  unsigned runs = 0;
  double seconds = 0;
  int signal = 0;  ///< that ended it early; 0: none did

  Work work() const { return {forecast.events, start_seconds, speed ? speed->factor : 1}; }
};

class Measurement {
 public:
  /// `folder`: where runs may lie.
  Measurement(const Question& question, std::string folder);

  /// Throws Failed, and Interrupted where nothing can be said yet.
  Findings carry_out();

  /// The model's run itself has failed; ends the command with its code.
  struct Failed {
    int code;
    std::string sentence;
  };
  struct Interrupted {
    int signal;
  };

 private:
  void send_scout();
  RunOutcome scout_for(double seconds);
  void send_scout_on();
  void run_pilot();
  void choose_begin();
  void take_snapshot_at(double events);
  void probe();
  void measure_in_turn();
  void measure_beyond_cores();
  void measure(Measured& one, double target_seconds);
  std::vector<std::string> words_for(const Configuration& configuration, double events) const;
  double events_ahead() const;
  double rate_of(const Measured& one) const;
  double best_rate() const;
  std::vector<Measured*> worth_more(double share);
  bool is_well_known() const;
  bool is_over(double reserve) const { return runner_.signal() != 0 || status_.left() < reserve; }
  std::string path(const char* name) const { return folder_ + "/" + name; }

  const Question& question_;
  const std::string folder_;
  Runner runner_;
  Status status_;
  Findings found_;
  Curve curve_;
  std::vector<CurvePoint> points_;  // of the curve
  std::string state_;               // folder of the scout with the snapshot
  bool has_snapshot_ = false;
  double until_ = 0, tick_ = 1e-9;  // simulated seconds
  std::int64_t until_ticks_ = 0, begin_ticks_ = 0;
  double begin_events_ = 0, begin_executed_ = 0;  // where measured runs begin
  double scout_rate_ = 0, scout_seconds_ = 0;     // of its events
};

}  // namespace orrery::advise
