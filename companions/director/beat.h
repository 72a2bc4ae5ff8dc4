// SPDX-License-Identifier: Apache-2.0
//
// The work of one tick: what the director does between waking up and going to sleep again, on its
// own thread, which has a higher priority than all directed threads. It reads the consumption of
// each thread, lets the policy choose, and makes the chosen threads real-time threads, and no
// others.
//
// A thread is kept from running because it is no real-time thread, and as many real-time threads as
// there are cores want to run. So each tick costs a system call for each thread whose turn changes,
// and one short read for each thread. To learn whether a thread is runnable takes a longer read,
// which is left out if the consumption shows the answer: a thread that has used its core all the
// time is runnable, and so is a thread that was runnable and has not run since.
//
// This thread must never wait for an ordinary thread, which may not run for a while. So it
// allocates and frees memory only of its own, names are short enough for the strings' internal
// buffers, and its output is copied into vectors with reserved capacity.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "director/clock_board.h"
#include "director/helpers.h"
#include "director/orders.h"
#include "director/policy.h"
#include "director/roll.h"
#include "director/sample_ring.h"
#include "director/spread.h"

namespace orrery::director {

/// A directed thread or a helper, for display.
struct ThreadView {
  ThreadId id;
  std::uint32_t number = 0;
  std::string process_name, name;
  bool is_helper = false, is_runnable = false, is_punished = false;
  Turn turn = Turn::waiting;
  Nanoseconds virtual_time = 0;
  Nanoseconds consumed = 0;  ///< since the director took the thread
};

/// The measurements so far.
struct Figures {
  Nanoseconds elapsed = 0;
  std::uint64_t ticks = 0, missed_ticks = 0;
  SpreadCounts spreads, delays;  ///< of virtual times; lateness of the director; in ticks
};

class Beat {
 public:
  /// `roll`: null if nothing is to be changed. `cores`: for the directed threads. `board`: null if
  /// nobody reads it.
  Beat(const Orders& orders, double ceiling, const cpu_set_t& cores, Roll* roll,
       SampleRing* samples, ClockBoard* board);

  /// Takes threads that are new or have another role. Throws UsageError if a thread cannot be
  /// directed.
  void take_in(std::vector<Found>& found);
  /// `begin`: when the tick was due; `now`: when it began.
  void tick(Nanoseconds begin, Nanoseconds now);
  void count_missed(std::uint64_t ticks) { figures_.missed_ticks += ticks; }
  /// Settings from the next tick on. Another tick begins the figures of the spread anew, whose unit
  /// it is.
  void set_tick(Nanoseconds tick);
  void set_ceiling(double ceiling) { duty_ = Duty(ceiling); }
  /// Of all directed threads of a process, also of threads that come later.
  void set_weight(pid_t process, double weight);

  bool is_empty() const { return directed_.empty(); }
  /// Whether no thread wanted to run at the last tick, and the clock has nowhere to leap.
  bool is_at_rest() const { return is_at_rest_; }
  const Figures& figures() const { return figures_; }
  /// Fills `views` up to its capacity, since nothing may be allocated.
  void show(std::vector<ThreadView>& views) const;

 private:
  struct Directed {
    Thread thread;
    std::string process_name;
    std::uint32_t number = 0;
    RollEntry* entry = nullptr;
    Level level = Level::own;
    Nanoseconds consumed_before = 0;  ///< when the director took the thread
  };

  RollEntry* roll_entry_of(const Found& found);
  void give_cores(const Found& found, RollEntry& entry) const;
  void take_directed(Found& found);
  void take_helper(Found& found);
  RollEntry* forget(const ThreadId& thread);
  void measure(Nanoseconds elapsed);
  bool is_runnable(std::size_t index, Nanoseconds ran, Nanoseconds elapsed);
  void keep_samples(Nanoseconds now);
  void publish(Nanoseconds now);
  void direct(bool is_directed_tick);
  void direct_helpers(bool is_directed_tick);
  void set_level(Directed& directed, Level level) const;

  Nanoseconds tick_;
  const unsigned cores_number_;
  const cpu_set_t cores_;
  Roll* const roll_;
  SampleRing* const samples_;
  ClockBoard* const board_;
  Policy policy_;
  Duty duty_;
  std::vector<Directed> directed_;  // by the policy's indices
  std::vector<Helper> helpers_;
  std::vector<std::pair<pid_t, double>> weights_;  // other than 1, by process
  Figures figures_;
  std::uint32_t rescues_ = 0, next_number_ = 0;
  bool is_at_rest_ = false;
  Nanoseconds start_ = -1, last_ = 0;
  std::size_t idle_turn_ = 0;  // the next idle threads to read the state of
};

}  // namespace orrery::director
