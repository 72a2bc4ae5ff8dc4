// SPDX-License-Identifier: Apache-2.0
//
// Records which engines executed the run, when and why: a table for programs, a sentence for users,
// and the engines' statistics.
#pragma once

#include <string>
#include <vector>

#include "engine/auto/candidates.h"
#include "engine/auto/policy.h"
#include "run/engine.h"

namespace orrery::automatic {

/// The periods of a whole run, which has a chronicle for each time between two halts.
struct RunCourse {
  std::vector<EnginePeriod> periods;
  std::vector<std::string> titles;  ///< of the periods
  std::uint64_t hand_overs = 0;     ///< times that the world went to another engine
};

/// How the run went, in one sentence. `policy`: null if there was no choice, or the order was
/// `given`.
std::string account_of(const RunCourse& course, const Policy* policy, bool given);

class Chronicle {
 public:
  /// A period in which a candidate had the world.
  struct Slice {
    std::string why;
    std::uint64_t committed = 0;
    double wall_seconds = 0, loop_seconds = 0;
  };
  void add(const Candidate& candidate, const Slice& slice);
  /// The candidate has given the world back; `one` is its result.
  void add_result(const Candidate& candidate, const RunResult& one);

  /// Fills in `result`, once the last engine has given the world back.
  void store(RunResult& result) const;
  void add_to(RunCourse& course) const;
  void add_statistics(const Policy* policy, RunResult& result) const;

 private:
  double seconds() const;
  void count(const std::string& engine, const std::vector<Statistic>& statistics);

  RunCourse course_;
  std::vector<Statistic> statistics_;  ///< of the engines, with their names in front
  std::vector<std::string> notes_;
  std::uint64_t peak_memory_bytes_ = 0;
  double outside_loops_seconds_ = 0;
  double outside_before_ = 0;  ///< outside_loops_seconds_ when the last engine took the world
  double first_startup_seconds_ = 0, last_shutdown_seconds_ = 0;
  bool has_results_ = false;
};

}  // namespace orrery::automatic
