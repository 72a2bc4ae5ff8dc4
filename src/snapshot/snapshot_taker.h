// SPDX-License-Identifier: Apache-2.0
//
// Decides when a run halts for a snapshot, and takes it: the rows so far go to their log, the world
// is copied (image.h), and the run goes on while the copy is written (writer.h).
//
// A halt at a simulated time T is exact: every event before T is committed, no event at or after T
// is executed. So every engine gives the same snapshot. A halt by the clock, by a signal or by
// Ctrl-C is at a cut that the engine can reach soon.
//
// Halts by the clock may take a share of the run's time at most (Manifest::wall_share). The next
// one waits until the run has gone on for long enough, and has committed something.
//
// All ranks of a run halt at the same cuts. At a halt they exchange whether the last snapshot was
// written, and the first rank, which alone receives requests to stop, says whether the run ends.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "orrery/time.h"
#include "run/clock.h"
#include "run/world/halts.h"
#include "snapshot/manifest.h"
#include "snapshot/writer.h"

namespace orrery::snapshot {

/// The simulated times at which snapshots are taken.
struct Times {
  Duration every = Duration::zero();  ///< zero: never; else its multiples
  std::vector<Time> at;               ///< in order
  bool end_after = false;             ///< the run ends when the last of `at` is written

  /// The first time after `cut`; Time::max() if there is none.
  Time next(const Key& cut) const;
  /// Whether `cut` is at or after all of `at`.
  bool are_behind(const Key& cut) const;
};

/// Functions of the log of rows; the defaults are for a run without tables.
struct RowHooks {
  /// Writes all committed rows to the file; returns its length in bytes.
  std::function<std::uint64_t()> flush = [] { return std::uint64_t{0}; };
  std::function<void()> synchronise = [] {};
};

/// Compares the first two snapshots when both are written; returns a note. May throw.
using Check = std::function<std::string(unsigned first, unsigned second)>;

class SnapshotTaker final : public RunHalts {
 public:
  /// `facts`: the values that are the same in all manifests of the run. Its number is that of the
  /// last existing snapshot, its wall seconds are those before this process.
  SnapshotTaker(const Folder& folder, Manifest facts, Times times, RunControl& control,
                RowHooks rows, std::function<void(const std::string&)> tell, Check check);

  Goal next_goal(const World& world) override;
  void note_hand_over(double seconds) override { hand_over_seconds_ = seconds; }
  bool at_halt(World& world) override;
  void at_end(RunResult& result) override;

  /// Number of the last snapshot that was written; 0: none.
  unsigned last() const { return writer_.last(); }
  const std::string& last_time() const { return writer_.last_time(); }
  /// Whether the run ended because it was to end after its last planned snapshot.
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
  Stopwatch since_last_;      ///< time that facts_.wall_seconds does not contain yet
  Time until_ = Time::max();  ///< of the current goal
  Check check_;               ///< empty: no check is wanted, or it is done
  Key last_cut_;              ///< of the last snapshot: a second one at the same cut is useless
  unsigned before_ = 0;       ///< last snapshot that this run has taken; 0: none
  std::string check_note_;
  bool ended_by_plan_ = false;
  bool is_ready_ = false;  ///< whether memory for snapshots was requested
  double longest_take_seconds_ = 0;
  double hand_over_seconds_ = 0, longest_halt_seconds_ = 0;
  ClockHalts::Moment next_by_clock_{};  ///< not before
  bool is_held_back_ = false;           ///< whether wall_share has delayed halts by the clock
  std::string refusal_;                 ///< why a snapshot could not be taken
  Writer writer_;
};

}  // namespace orrery::snapshot
