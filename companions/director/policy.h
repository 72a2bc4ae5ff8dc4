// SPDX-License-Identifier: Apache-2.0
//
// Chooses the threads that run next: those of least virtual time, after NetWarp (Yoginath: Virtual
// time-aware virtual machine systems, dissertation, Georgia Institute of Technology, 2014), for
// threads that do not report their time. A thread's virtual time is the processor time that it has
// consumed, plus the amount by which it was pulled up: a thread that was idle returns at the
// virtual time of the least runnable one. Otherwise it would have a core all the time until it had
// caught up with time that it did not want.
//
// Machines: Virtual processors of one machine have a machine's clock in common, the highest virtual
// time of its processors (section 2.3 there). An idle processor is drawn to it. The system's clock is
// the least of the clocks of machines that are not idle. Other threads are machines of their own.
//
// The bound on the spread: Let one of n runnable threads begin a tick at t; it runs only if fewer
// than `cores` threads are below t. Its tick ends at most one tick later, so the thread that is
// furthest ahead was among the least one tick of its own ago. As no thread waits while one above it
// is chosen, the spread stays below two ticks for cores < n, for any n and any order
// (companions/director/tests/policy_test.cpp tests this).
//
// This class only computes on a table; director.cpp makes the system calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace orrery::director {

using Nanoseconds = std::int64_t;

/// What a thread may do until the next tick.
enum class Turn : std::uint8_t {
  waiting,  ///< run only if a core has nothing else to do
  standby,  ///< take the core of a thread that blocks before the tick is over
  running
};

struct Account {
  std::uint64_t machine = 0;
  Nanoseconds consumed = 0;   ///< processor time since the thread's begin
  double weight = 1;          ///< consumed time for each unit of virtual time
  Nanoseconds pulled_up = 0;  ///< virtual time minus weighted consumed time; may be negative
  bool is_runnable = false;
  bool was_runnable = false;  ///< at the last decision
  Turn turn = Turn::waiting;

  Nanoseconds virtual_time() const { return weighted() + pulled_up; }
  Nanoseconds weighted() const {
    return weight == 1 ? consumed : Nanoseconds(double(consumed) / weight);
  }
};

class Policy {
 public:
  explicit Policy(unsigned cores) : cores_(cores) {}

  /// Gives the thread the next index, and the system's clock.
  void join(std::uint64_t machine, Nanoseconds consumed, bool is_runnable);
  /// Removes a thread; all later indices become one less.
  void leave(std::size_t index) { accounts_.erase(accounts_.begin() + std::ptrdiff_t(index)); }
  void update(std::size_t index, Nanoseconds consumed, bool is_runnable);
  /// From now on the thread consumes `weight` times as much for the same virtual time.
  void set_weight(std::size_t index, double weight);
  /// While no thread is runnable, the system's clock may leap to this time.
  void set_leap(Nanoseconds to) { leap_ = to; }
  /// Pulls up threads that are or were idle, and gives each thread its turn for the next tick.
  void decide();

  const std::vector<Account>& accounts() const { return accounts_; }
  /// The highest minus the lowest virtual time of runnable threads; nothing for fewer than two
  /// threads. Call it after `decide`.
  std::optional<Nanoseconds> spread() const;
  /// The system's clock: the least clock of a machine with a runnable thread, or the last such value.
  /// It never falls.
  Nanoseconds floor() const { return floor_; }

 private:
  struct Machine {
    std::uint64_t number;
    Nanoseconds clock;
    bool is_runnable, was_runnable;
  };
  void look_at_machines();
  void raise_floor();
  void pull_up();
  unsigned cores_;
  Nanoseconds floor_ = 0, leap_ = INT64_MIN;
  std::vector<Machine> machines_;  // by number
  std::vector<Account> accounts_;
  std::vector<std::size_t> order_;  // a member to keep its memory
};

/// The share of directed ticks, spread evenly over time: between them are undirected ticks, so the
/// machine stays usable with any number of busy threads. Undirected ticks are single, since the
/// system's scheduling in them increases the spread.
class Duty {
 public:
  explicit Duty(double ceiling) : others_(1 - ceiling) {}
  /// Whether the next tick is directed.
  bool next();

 private:
  double others_, owed_ = 0;
};

}  // namespace orrery::director
