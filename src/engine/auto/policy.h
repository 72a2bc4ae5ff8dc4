// SPDX-License-Identifier: Apache-2.0
//
// Which engine a run is given to, and for how long. The policy has no clock and no world: it is
// asked for the next step and told what came of it, so that it can be tested with any course of
// events.
//
// The run begins with the first candidate and stays with one, the *incumbent*. Another is given a
// *trial*, short at first and longer while it keeps up: most of what does not pay is found out in
// one fiftieth of a second. One that is clearly ahead goes on as the incumbent without a hand-over;
// where both are close, the incumbent's rate is measured once more, beside the trial's, for rates
// of different moments differ by what else the machine does.
//
// Trials have a budget, a share of the run's time. What one loses (time, less what the incumbent
// would have taken for the same events) is charged to it, and the candidate that lost waits until
// that is a small share of the time since, twice as long after each loss. When the incumbent's rate
// has changed by more than a fifth, all may have another try.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace orrery::automatic {

class Policy {
 public:
  /// Candidates of one family differ in the number of workers; families are numbered from 0.
  struct Candidate {
    unsigned family = 0;
    unsigned workers = 1;
  };
  enum class Purpose : std::uint8_t {
    progress,  ///< with the incumbent
    trial,     ///< with another candidate
    check      ///< with the incumbent, for the comparison with a candidate on trial
  };
  struct Step {
    std::size_t candidate = 0;
    double seconds = 0;
    Purpose purpose = Purpose::progress;
  };
  struct Outcome {
    std::uint64_t events = 0;      ///< committed
    double loop_seconds = 0;       ///< of executing
    double wall_seconds = 0;       ///< and of taking the world and giving it back, as far as it did
    double hand_over_seconds = 0;  ///< of taking it and giving it back, if need be an estimate
    bool stays = false;            ///< it still has the world
  };

  /// Begins with the first.
  explicit Policy(std::vector<Candidate> candidates);

  /// `open[i]`: whether candidate i may be tried now.
  Step next(const std::vector<char>& open);
  /// What came of the step that `next` gave last.
  void note(const Outcome& outcome);
  /// Whoever had the world still when a step was noted has given it back after so many seconds.
  void note_given_back(double seconds, Purpose of_step);

  /// With the incumbent, from one look to the next.
  double longest_slice() const;
  std::size_t incumbent() const { return incumbent_; }
  /// Rate of the last that won, over that of whom it replaced.
  double last_gain() const { return last_gain_; }
  std::uint64_t trials() const { return trials_; }
  double lost_seconds() const { return lost_seconds_; }

 private:
  enum class Stage : std::uint8_t { none, first, second, check, third };
  struct Record {
    double due_seconds = 0;
    unsigned losses = 0;  ///< in a row
  };

  double slice(const std::vector<char>& open) const;
  bool in_turn(std::size_t i, const std::vector<char>& open) const;
  bool affordable() const;
  double affordable_in() const;
  double trial_seconds() const;
  double expected_loss() const;
  bool has_time_for_closeness() const;
  void note_progress(const Outcome& outcome, double rate);
  void note_trial(const Outcome& outcome, double rate);
  void win(double rate);
  void lose(const Outcome& outcome);
  void put_off(std::size_t i, double loss);
  std::size_t best_due(const std::vector<char>& open, std::size_t but) const;

  const std::vector<Candidate> candidates_;
  std::vector<Record> records_;
  std::vector<unsigned> workers_at_;  ///< of each family: the number of workers to try next
  std::size_t incumbent_ = 0;
  double rate_ = 0;          ///< of the incumbent, lately; events a second
  double rate_at_look_ = 0;  ///< when something was tried last
  double elapsed_seconds_ = 0;
  double hand_over_seconds_ = 0;
  double lost_seconds_ = 0, lost_before_ = 0;
  double last_gain_ = 1;
  std::uint64_t trials_ = 0;

  Stage stage_ = Stage::none;
  Step step_;
  std::size_t challenger_ = 0;
  bool others_wait_ = false;                           ///< for a trial, when this one began
  double base_seconds_ = 0;                            ///< of the first stage
  double incumbent_rates_ = 0, challenger_rates_ = 0;  ///< weighted sums of the close comparison
};

}  // namespace orrery::automatic
