// SPDX-License-Identifier: Apache-2.0
//
// Who runs next: the threads of least virtual time, after NetWarp (Yoginath: Virtual time-aware
// virtual machine systems, dissertation, Georgia Institute of Technology, 2014), for threads that
// say nothing of their time. A thread's virtual time is the processor time that it has consumed,
// plus what it was pulled up by: one that was idle comes back at the virtual time of the least
// runnable one, or it would have all cores until it had caught up with what it never wanted.
//
// The bound. Let one of n runnable threads begin a tick at t; it runs only if fewer than `cores`
// threads are below t. It ends at most a tick later, so whoever is furthest ahead was among the
// least a tick of its own ago. As no thread waits while one above it is chosen, the spread stays
// below two ticks for cores < n, however n and the order are (tests/director/policy_test.cpp
// tries).
//
// Everything here is arithmetic on a table; the system is director.cpp's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace orrery::director {

using Nanoseconds = std::int64_t;

/// What a thread may do until the next tick.
enum class Turn : std::uint8_t {
  waiting,  ///< run only where a core has nothing else to do
  standby,  ///< take the core of one that blocks before the tick is over
  running
};

struct Account {
  Nanoseconds consumed = 0;   ///< of the processor, since the thread was born
  Nanoseconds pulled_up = 0;  ///< what its virtual time is ahead of that (may be negative)
  bool is_runnable = false;
  bool was_runnable = false;  ///< at the last decision
  Turn turn = Turn::waiting;

  Nanoseconds virtual_time() const { return consumed + pulled_up; }
};

class Policy {
 public:
  explicit Policy(unsigned cores) : cores_(cores) {}

  /// The thread gets the next index, and the virtual time of the least runnable one.
  void join(Nanoseconds consumed, bool is_runnable);
  /// Those behind it move down by one index.
  void leave(std::size_t index) { accounts_.erase(accounts_.begin() + std::ptrdiff_t(index)); }
  void update(std::size_t index, Nanoseconds consumed, bool is_runnable);
  /// Pulls threads up that are or were idle, and gives each thread its turn for the tick that
  /// begins.
  void decide();

  const std::vector<Account>& accounts() const { return accounts_; }
  /// The highest less the lowest virtual time of runnable threads; nothing where these are fewer
  /// than two. Call it after `decide`.
  std::optional<Nanoseconds> spread() const;
  /// The least virtual time of a runnable thread, or the last one that there was. It never falls.
  Nanoseconds floor() const { return floor_; }

 private:
  void pull_up();
  unsigned cores_;
  Nanoseconds floor_ = 0;
  std::vector<Account> accounts_;
  std::vector<std::size_t> order_;  // kept for its memory
};

/// The share of ticks in which threads are directed, spread evenly: between them are ticks that
/// belong to everybody, so the machine stays usable however busy the threads are. They are single
/// ticks, since threads run in them as the system likes, which puts them out of step.
class Duty {
 public:
  explicit Duty(double ceiling) : others_(1 - ceiling) {}
  /// Whether the next tick is directed.
  bool next();

 private:
  double others_, owed_ = 0;
};

}  // namespace orrery::director
