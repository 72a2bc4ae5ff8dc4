// SPDX-License-Identifier: Apache-2.0
//
// Which engines had the run, when and why: a table for machines, a sentence for people, and what
// the engines counted.
#pragma once

#include <string>
#include <vector>

#include "engine/auto/candidates.h"
#include "engine/auto/policy.h"
#include "run/engine.h"

namespace orrery::automatic {

class Chronicle {
 public:
  /// The candidate had the world for `wall_seconds`; `one` is what it left.
  void add(const Candidate& candidate, const std::string& why, double wall_seconds,
           std::uint64_t committed, const RunResult& one);

  /// Puts the result together, from when the last engine has given the world back.
  void store(RunResult& result) const;
  /// How it went, in one sentence. `policy`: null if the order was given.
  std::string account(const Policy* policy) const;
  void add_statistics(const Policy* policy, RunResult& result) const;

 private:
  double seconds() const;
  std::vector<EnginePeriod> stretches() const;
  void count(const std::string& engine, const std::vector<Statistic>& statistics);

  std::vector<EnginePeriod> periods_;
  std::vector<std::string> titles_;    ///< of the periods
  std::vector<Statistic> statistics_;  ///< of the engines, with their names in front
  std::vector<std::string> notes_;
  std::uint64_t peak_memory_bytes_ = 0;
  std::uint64_t hand_overs_ = 0;
  double first_startup_seconds_ = 0, last_shutdown_seconds_ = 0, outside_loops_seconds_ = 0;
};

}  // namespace orrery::automatic
