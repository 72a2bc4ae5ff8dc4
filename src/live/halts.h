// SPDX-License-Identifier: Apache-2.0
//
// Halts a run so that somebody can look at its world, as far as its metrics are committed and what
// its LPs do. Workers change these all the time, so they can be read only where a run is cut; a cut
// changes no results (run/world.h). Passes on what the run halts for besides.
//
// Over ranks all halt at the same cuts, and the first, which alone is asked, tells the others what
// for.
#pragma once

#include "live/board.h"
#include "live/lp_map.h"
#include "run/clock.h"
#include "run/halts.h"

namespace orrery::live {

class LookHalts final : public ChainedHalts {
 public:
  /// `board`: null at ranks that nobody asks. `others`: null, or outlives this.
  LookHalts(const Model& model, const RunOptions& options, RunControl& control, Board* board,
            RunHalts* others)
      : ChainedHalts(others), model_(model), options_(options), control_(control), board_(board) {}

  Goal next_goal(const World& world) override;
  void note_hand_over(double seconds) override;
  bool at_halt(World& world) override;
  void at_end(RunResult& result) override;

 private:
  /// What a halt is for.
  struct Reasons {
    bool look = false, others = false;
  };
  Reasons take_reasons();
  void look(World& world);

  const Model& model_;
  const RunOptions& options_;
  RunControl& control_;
  Board* const board_;
  LpMapper mapper_;
  Stopwatch since_begin_;
  double hand_over_seconds_ = 0;  ///< of the halt under way
  double last_look_ = 0;          ///< when it was, in seconds
  std::uint64_t looks_ = 0;
  double cost_seconds_ = 0;  ///< of all
};

}  // namespace orrery::live
