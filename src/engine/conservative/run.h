// SPDX-License-Identifier: Apache-2.0
//
// The work of the conservative engine with a world, from one cut to the next: its threads and their
// meetings.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/conservative/statistics.h"
#include "engine/conservative/worker.h"
#include "run/threads/team.h"
#include "transport/meeting.h"

namespace orrery::conservative {

class ConservativeRun {
 public:
  ConservativeRun(World& world, const RunOptions& options, const Goal& goal, unsigned workers,
                  RunControl& control);
  ConservativeRun(const ConservativeRun&) = delete;
  ConservativeRun& operator=(const ConservativeRun&) = delete;
  ~ConservativeRun();

  /// Takes the world, moves it forward, and gives it back.
  void advance(RunResult& result);

 private:
  static constexpr double kLookSeconds = 1e-3;  ///< from one look at the clock to the next
  static constexpr double kLongSeconds =
      50e-6;  ///< of a window: a part from another core costs 1 us

  // By every worker.
  void work(unsigned index);
  bool set_up(unsigned index);
  bool execute_windows(unsigned index);
  bool meet(unsigned index, std::uint64_t meeting, const WorkerReport& report);
  template <class Ready>
  bool wait(unsigned index, Ready&& ready);

  // By worker 0, at a meeting.
  std::optional<Window> decide(const WorkerReport& own);
  std::optional<Report> report_of_all(Report report);
  void look(std::uint64_t cycles);

  // At the end.
  void conclude(RunResult& result);
  void give_lps_back();

  World& world_;
  const RunOptions& options_;
  RunControl& control_;
  Parts parts_;
  Team team_;  ///< its destructor ends the threads before the members above are destroyed
  Plan plan_;
  transport::Meetings<WorkerReport, Window> meetings_;
  std::vector<std::unique_ptr<Worker>> workers_;

  // Worker 0's.
  GoalWatch goal_;
  const std::uint64_t goal_events_;
  Report all_;  ///< at the last meeting
  std::uint64_t windows_ = 0, next_look_cycles_ = 0, met_cycles_ = 0, memory_bytes_ = 0;
  double set_up_seconds_ = 0;
};

}  // namespace orrery::conservative
