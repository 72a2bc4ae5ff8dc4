// SPDX-License-Identifier: Apache-2.0
//
// Measures configurations of a model's run, within a budget of wall-clock time:
//
// 1. A scout, the run itself on the default engine, goes as far as a quarter of the budget allows.
//    It gives the number of events by simulated time, and leaves a snapshot where it ends: a
//    warmed-up state, and the latest possible one. If the event rate has not settled by then, the
//    scout goes on for as long again.
// 2. Each configuration resumes from that snapshot (`orrery fork`) for a short time. Configurations
//    that are far slower than the best are not measured any further.
// 3. The others run in turn, in runs of three lengths, until the budget is used up or the interval
//    of the best is narrow.
// 4. The cost of more executors than cores is measured on the best parallel configuration.
//
// If the scout ends before its share of the budget, runs are measured from a quarter of its events
// on; a very short run is measured as a whole, and a run without snapshots from the start.
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
  std::vector<std::string> fork_words;   ///< the given options that a fork takes
  std::vector<std::string> pilot_words;  ///< the words of the pilot run; empty: no pilot
  std::vector<Configuration> candidates;
  double budget_seconds = 60;
  unsigned cores = 1;
  bool wants_speed = false;  ///< also measure the factor of this machine
  bool quiet = false;
};

/// The begin of measured runs.
enum class Begin : std::uint8_t { snapshot, start, whole };

struct Findings {
  nlohmann::ordered_json scout;  ///< the scout's report
  Forecast forecast;
  Begin begin = Begin::snapshot;
  double begin_seconds = 0;  ///< simulated time of the snapshot
  double start_seconds = 0;  ///< time of a run outside of its event loop
  std::vector<Measured> measured;
  std::optional<Speed> speed;
  std::vector<std::string> notes;
  unsigned runs = 0;
  double seconds = 0;
  int signal = 0;  ///< the signal that ended the measurement early; 0: none

  Work work() const { return {forecast.events, start_seconds, speed ? speed->factor : 1}; }
};

class Measurement {
 public:
  /// `folder`: for the runs.
  Measurement(const Question& question, std::string folder);

  /// Throws Failed, and Interrupted if a signal came before there is any result.
  Findings carry_out();

  /// The model's own run has failed; ends the command with this code.
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
  std::string state_;               // folder of the scout's run with the snapshot
  bool has_snapshot_ = false;
  double until_ = 0, tick_ = 1e-9;  // simulated seconds
  std::int64_t until_ticks_ = 0, begin_ticks_ = 0;
  double begin_events_ = 0, begin_executed_ = 0;  // counters at the begin of measured runs
  double scout_rate_ = 0, scout_seconds_ = 0;     // of the scout: events per second, and seconds
};

}  // namespace orrery::advise
