// SPDX-License-Identifier: Apache-2.0
//
// Halts a run for a look: reads the committed metrics and the activity of LPs from its world.
// Workers change both all the time, so they can be read only at a cut of the run; a cut changes no
// results (run/world/world.h). Passes on the run's other halts.
//
// Over ranks, all ranks halt at the same cuts. Only the first rank gets requests, and it sends the
// reasons of a halt to the others.
#pragma once

#include "live/board.h"
#include "live/lp_map.h"
#include "live/picture.h"
#include "run/clock.h"
#include "run/world/halts.h"

namespace orrery::live {

class LookHalts final : public ChainedHalts {
 public:
  /// `board`: null at all ranks but the first. `others`: null, or must outlive this object.
  LookHalts(const Model& model, const RunOptions& options, RunControl& control, Board* board,
            RunHalts* others)
      : ChainedHalts(others), model_(model), options_(options), control_(control), board_(board) {}

  Goal next_goal(const World& world) override;
  void note_hand_over(double seconds) override;
  bool at_halt(World& world) override;
  void at_end(RunResult& result) override;

 private:
  /// The reasons for a halt.
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
  PictureMarkup picture_;
  Stopwatch since_begin_;
  double hand_over_seconds_ = 0;  ///< of the current halt
  double last_look_ = 0;          ///< seconds from the begin to the last look
  std::uint64_t looks_ = 0;
  double cost_seconds_ = 0;  ///< of all looks
};

}  // namespace orrery::live
