// SPDX-License-Identifier: Apache-2.0
//
// The clocks of machines at any moment. The director knows them at its ticks (clock_board.h); since
// then the processors have consumed more, which their task clocks tell exactly. This class belongs
// to one thread.
//
// The task clock of a processor that does not run takes 0.1 us to read, of one that runs 5 us and an
// interrupt of its core. So there are estimates for whoever only wants to know how long to wait.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "director/clock_board.h"

namespace orrery::director {

/// What the network needs to know of time. Machines are numbered from 0; moments are of
/// CLOCK_MONOTONIC.
class MachineTimes {
 public:
  virtual ~MachineTimes() = default;

  /// Takes the state of the newest tick.
  virtual void refresh() = 0;
  /// No machine's clock was below this at the newest tick, or will ever be.
  virtual Nanoseconds system() const = 0;
  virtual bool all_are_idle() const = 0;
  /// False before the first tick that knew the machine, and after its end.
  virtual bool knows(std::size_t machine) const = 0;
  /// The machine's clock now. That of an idle machine is the system's, if that is later.
  virtual Nanoseconds exact(std::size_t machine) = 0;
  /// The moment at which the machine's clock will show `time` at the earliest. Nothing if only a tick
  /// decides about it.
  virtual std::optional<Nanoseconds> earliest(std::size_t machine, Nanoseconds time,
                                              Nanoseconds now) const = 0;
  /// While all machines are idle, the system's clock may leap to this time; INT64_MAX: it stays.
  virtual void set_leap(Nanoseconds to) = 0;
  /// Lets bell(), an eventfd or -1, ring at the next tick. False if there is a newer tick already.
  virtual bool await_tick() = 0;
  virtual int bell() const = 0;
};

/// All machines have the clock of this machine: for networks of machines that are not directed.
class WallTimes final : public MachineTimes {
 public:
  WallTimes();
  void refresh() override;
  Nanoseconds system() const override { return now_ - start_; }
  bool all_are_idle() const override { return false; }
  bool knows(std::size_t) const override { return true; }
  Nanoseconds exact(std::size_t machine) override;
  std::optional<Nanoseconds> earliest(std::size_t, Nanoseconds time,
                                      Nanoseconds now) const override {
    return std::max(now, start_ + time);
  }
  void set_leap(Nanoseconds) override {}
  bool await_tick() override { return true; }
  int bell() const override { return -1; }

 private:
  Nanoseconds start_, now_;
};

class MachineClocks final : public MachineTimes {
 public:
  /// `processes` of the machines; their order numbers the machines. `processors`: their task clocks.
  MachineClocks(ClockBoard& board, const std::vector<pid_t>& processes,
                const std::vector<std::pair<ThreadId, TaskClock>>& processors);

  void refresh() override;
  Nanoseconds system() const override { return clocks_->system; }
  bool all_are_idle() const override { return all_are_idle_; }
  bool knows(std::size_t machine) const override { return !machines_[machine].processors.empty(); }
  Nanoseconds exact(std::size_t machine) override;
  std::optional<Nanoseconds> earliest(std::size_t machine, Nanoseconds time,
                                      Nanoseconds now) const override;
  void set_leap(Nanoseconds to) override { board_.set_leap(to == INT64_MAX ? INT64_MIN : to); }
  bool await_tick() override { return board_.await_tick(); }
  int bell() const override { return board_.bell().number(); }

 private:
  struct Machine {
    pid_t process = 0;
    std::vector<const ProcessorClock*> processors;  // in clocks_
    Nanoseconds clock = 0;                          ///< at the newest tick
    bool is_idle = true, leader_runs = false;
    double weight = 1;
    std::vector<std::pair<ThreadId, TaskClock>> task_clocks;
    Nanoseconds last = 0, last_at = 0;  ///< that exact() has told, and when; clocks do not go back
  };
  /// Since the newest tick; 0 of a processor without a task clock.
  static Nanoseconds consumed_since(const Machine& machine, const ProcessorClock& processor);

  ClockBoard& board_;
  const Clocks* clocks_;
  std::vector<Machine> machines_;
  bool all_are_idle_ = true;
};

}  // namespace orrery::director
