// SPDX-License-Identifier: Apache-2.0
//
// Executes the runs of a plan: starts the runs that are not finished, a limited number at once.
// When all replications of a point are finished, adds more if a precision rule is not met. A run
// that fails does not stop the others. The reports stay in the study's folder; the tables are made
// from them at the end.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "study/children.h"
#include "study/inputs_now.h"
#include "study/plan.h"
#include "study/study_folder.h"
#include "study/study_progress.h"

namespace orrery::study {

/// The commands that start the runs.
struct RunMaker {
  /// The words that define the run at this point with this seed.
  std::function<std::vector<std::string>(std::size_t point, std::uint64_t seed)> command;
  std::vector<std::string> manner;         ///< words behind `command` that do not change results
  std::string program_build, model_build;  ///< see core/modules.h
  std::size_t jobs = 1;                    ///< runs at once

  RunIdentity identity(std::size_t point, std::uint64_t seed) const {
    return {command(point, seed), program_build, model_build};
  }
};

struct Failure {
  std::size_t point = 0;
  std::uint64_t place = 0;  ///< the replication's number
  std::uint64_t seed = 0;
  int code = 0;
  std::string sentence;
};

/// A rule that was not met with the largest number of replications.
struct GivenUp {
  std::size_t point = 0;
  std::size_t place = 0;  ///< index of the rule
  double share = 0;       ///< the reached half-width / |mean|
};

class Campaign {
 public:
  Campaign(const Plan& plan, const StudyFolder& folder, const RunMaker& maker, bool quiet);

  /// Returns the signal that ended the campaign early; 0: all runs were executed.
  int carry_out();

  std::uint64_t replications(std::size_t point) const { return points_[point].wanted; }
  const std::vector<Failure>& failures() const { return failures_; }  ///< in the plan's order
  const std::vector<GivenUp>& given_up() const { return given_up_; }  ///< in the plan's order
  std::uint64_t done() const { return done_; }
  std::uint64_t total() const { return total_; }

 private:
  struct PointState {
    std::uint64_t wanted = 0;  ///< replications
    std::uint64_t open = 0;    ///< of `wanted`, how many are not finished
    bool failed = false;
    std::vector<std::vector<double>> values;  ///< by rule and replication; NaN: none
  };
  struct PlannedRun {
    std::size_t point;
    std::uint64_t replication;
  };

  void want(std::size_t point, std::uint64_t replications);
  void look_at(std::size_t point);
  std::uint64_t next_count(std::size_t point);
  Estimate estimate_of(const PointState& point, std::size_t rule) const;
  void note_values(const PlannedRun& run, const nlohmann::ordered_json& report);
  RunIdentity identity(const PlannedRun& run) const;
  void start_next();
  void end(const Ended& ended);
  void fail(const PlannedRun& run, int code, const std::string& sentence);
  void on_signal(int number);
  void show();

  const Plan& plan_;
  const StudyFolder& folder_;
  const RunMaker& maker_;
  Children children_;
  const bool quiet_;
  StudyProgress progress_;
  InputsNow inputs_;
  std::vector<PointState> points_;
  std::deque<PlannedRun> queue_;
  std::vector<PlannedRun> started_;  ///< by tag
  std::vector<Failure> failures_;
  std::vector<GivenUp> given_up_;
  std::uint64_t kept_ = 0;      ///< finished runs that were kept
  std::uint64_t outdated_ = 0;  ///< finished runs of another build or other inputs
  std::uint64_t done_ = 0, total_ = 0;
  bool has_checked_rules_ = false;
  int signal_ = 0;
};

}  // namespace orrery::study
