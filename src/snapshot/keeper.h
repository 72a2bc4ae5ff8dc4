// SPDX-License-Identifier: Apache-2.0
//
// When a run halts for a snapshot, and what is done then: the rows so far go to their log, the
// world is copied (image.h), and the run goes on while the copy is written (writer.h).
//
// At a simulated time T the halt lies exactly there: everything before T is committed, nothing at
// or after it executed. So the same snapshot comes from every engine, and what is asked for by the
// clock, by a signal or by Ctrl-C is at a cut that the engine can make soon.
//
// Halts by the clock get a share of the run's time at most (Manifest::wall_share): the next one
// waits until the run has gone on for long enough, and has committed something.
//
// Over ranks all halt at the same cuts. There they tell each other how they have fared with the
// snapshot before, and the first one, which alone is asked to stop, whether the run ends.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "orrery/time.h"
#include "run/clock.h"
#include "run/halts.h"
#include "snapshot/manifest.h"
#include "snapshot/writer.h"

namespace orrery::snapshot {

/// At which simulated times.
struct Times {
  Duration every = Duration::zero();  ///< zero: never; else its multiples
  std::vector<Time> at;               ///< in order
  bool end_after = false;             ///< the run ends when the last of `at` is written

  /// The first one whose events are not yet executed; Time::max() if there is none.
  Time next(const Key& cut) const;
  /// Whether the run has come through all of `at`.
  bool are_behind(const Key& cut) const;
};

/// Of the log of rows; for a run without tables as they are.
struct RowHooks {
  /// Everything that is committed is in the file; its length.
  std::function<std::uint64_t()> flush = [] { return std::uint64_t{0}; };
  std::function<void()> synchronise = [] {};
};

/// What the run has to say of its first two snapshots, when both are written; a note. May throw.
using Check = std::function<std::string(unsigned first, unsigned second)>;

class Keeper final : public RunHalts {
 public:
  /// `facts`: what is the same in all manifests of the run; its number is that of the last snapshot
  /// that is there, and its wall seconds are those before this process.
  Keeper(const Folder& folder, Manifest facts, Times times, RunControl& control, RowHooks rows,
         std::function<void(const std::string&)> tell, Check check);

  Goal next_goal(const World& world) override;
  void note_hand_over(double seconds) override { hand_over_seconds_ = seconds; }
  bool at_halt(World& world) override;
  void at_end(RunResult& result) override;

  /// Of the last snapshot that was written; 0: none.
  unsigned last() const { return writer_.last(); }
  const std::string& last_time() const { return writer_.last_time(); }
  /// The run ended since it was asked to when a snapshot was there.
  bool ended_by_plan() const { return ended_by_plan_; }

 private:
  bool keep(World& world);
  void take(World& world);
  void pace(double halt_seconds);
  std::string pace_note() const;
  void check();
  void settle_last();
  bool is_first() const { return facts_.rank == 0; }
  bool agree_to_end(bool ends, std::exception_ptr failure) const;

  Manifest facts_;
  const Times times_;
  RunControl& control_;
  const std::function<std::uint64_t()> flush_rows_;
  Stopwatch since_last_;      ///< what facts_.wall_seconds does not have yet
  Time until_ = Time::max();  ///< of the goal under way
  Check check_;               ///< empty: nothing is to be checked, or has been
  Key last_cut_;              ///< of the last snapshot: a second one there would tell nothing new
  unsigned before_ = 0;       ///< the snapshot that this run has taken last; 0: none
  std::string check_note_;
  bool ended_by_plan_ = false;
  bool is_ready_ = false;  ///< memory for snapshots was asked for
  double longest_take_seconds_ = 0;
  double hand_over_seconds_ = 0, longest_halt_seconds_ = 0;
  ClockHalts::Moment next_by_clock_{};  ///< not before
  bool is_held_back_ = false;           ///< by that
  std::string refusal_;                 ///< why none could be taken
  Writer writer_;
};

}  // namespace orrery::snapshot
