// SPDX-License-Identifier: Apache-2.0
//
// Decides which engine executes a run, and for how long. The policy has no clock and no world: its
// caller asks for the next step and reports the outcome, so that tests can try any course of a run.
//
// The run begins with the first candidate. The present candidate is the *incumbent*. Another
// candidate is given a *trial*, short at first and longer while it keeps up: most candidates that
// do not pay are found out within 20 ms. A candidate that is clearly faster goes on as the
// incumbent without a hand-over. Where both are close, the incumbent's rate is measured again,
// close in time to the trial, because the load of the machine by other programs changes the rates.
//
// Trials have a budget, a share of the run's time. The loss of a trial (its time, less the time
// that the incumbent would have taken for the same events) is charged to the budget. A candidate
// that lost waits until its loss is a small share of the time since, twice as long after each loss.
// When the incumbent's rate has changed by more than a fifth, all candidates may have another
// trial.
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
    double loop_seconds = 0;       ///< executing
    double wall_seconds = 0;       ///< executing, and taking the world and giving it back if it did
    double hand_over_seconds = 0;  ///< taking the world and giving it back; may be an estimate
    bool stays = false;            ///< the candidate still has the world
  };

  /// The run begins with the first candidate.
  explicit Policy(std::vector<Candidate> candidates);

  /// `open[i]`: whether candidate i may be tried now.
  Step next(const std::vector<char>& open);
  /// The outcome of the step that `next` returned last.
  void note(const Outcome& outcome);
  /// A candidate that still had the world when its step was noted has given it back; that took
  /// `seconds`.
  void note_given_back(double seconds, Purpose of_step);

  /// The longest step with the incumbent, in seconds.
  double longest_slice() const;
  std::size_t incumbent() const { return incumbent_; }
  /// Rate of the last winner of a trial, over the rate of the candidate that it replaced.
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
  std::vector<unsigned> workers_at_;  ///< by family: the number of workers to try next
  std::size_t incumbent_ = 0;
  double rate_ = 0;          ///< recent rate of the incumbent, events per second
  double rate_at_look_ = 0;  ///< the incumbent's rate when the last trial began
  double elapsed_seconds_ = 0;
  double hand_over_seconds_ = 0;
  double lost_seconds_ = 0, lost_before_ = 0;
  double last_gain_ = 1;
  std::uint64_t trials_ = 0;

  Stage stage_ = Stage::none;
  Step step_;
  std::size_t challenger_ = 0;
  bool others_wait_ = false;                           ///< others were due when this trial began
  double base_seconds_ = 0;                            ///< length of the first stage
  double incumbent_rates_ = 0, challenger_rates_ = 0;  ///< weighted sums of the close comparison
};

}  // namespace orrery::automatic
