// SPDX-License-Identifier: Apache-2.0
//
// One tick after the other: what the director does between waking up and going to sleep again, on
// its own thread, above all that it directs. It reads what each thread has consumed, lets the
// policy choose, and makes real-time threads of those that are chosen and none of the others.
//
// How a thread is kept from running: it is no real-time thread, and as many real-time threads as
// there are cores want to run. So each tick costs a system call for each thread whose turn changes,
// and one short read for each thread. Whether a thread could run is a longer read, which is left
// out where the consumption says it: who has used its core all the time wants more, and who has
// not run since it was last seen runnable still is.
//
// This thread must never wait for an ordinary one, which may not run for a while: what it allocates
// and frees is its own, names are short enough to lie within their strings, and what it tells is
// copied to where there is room already.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "director/helpers.h"
#include "director/orders.h"
#include "director/policy.h"
#include "director/roll.h"
#include "director/sample_ring.h"
#include "director/spread.h"

namespace orrery::director {

/// A directed thread or a helper, for those who show it.
struct ThreadView {
  ThreadId id;
  std::uint32_t number = 0;
  std::string process_name, name;
  bool is_helper = false, is_runnable = false, is_punished = false;
  Turn turn = Turn::waiting;
  Nanoseconds virtual_time = 0;
  Nanoseconds consumed = 0;  ///< since the director took the thread
};

/// What has been measured so far.
struct Figures {
  Nanoseconds elapsed = 0;
  std::uint64_t ticks = 0, missed_ticks = 0;
  SpreadCounts spreads, delays;  ///< how late the director woke, in ticks, too
};

class Beat {
 public:
  /// `roll` is null where nothing is to be changed. `cores`: those that directed threads get.
  Beat(const Orders& orders, double ceiling, const cpu_set_t& cores, Roll* roll,
       SampleRing* samples);

  /// Threads that are new, or have another role now. Throws UsageError where one cannot be
  /// directed.
  void take_in(std::vector<Found>& found);
  /// `begin`: when the tick was to begin; `now`: when it did.
  void tick(Nanoseconds begin, Nanoseconds now);
  void count_missed(std::uint64_t ticks) { figures_.missed_ticks += ticks; }

  bool is_empty() const { return directed_.empty(); }
  const Figures& figures() const { return figures_; }
  /// As many as there is room for: nothing is allocated.
  void show(std::vector<ThreadView>& views) const;

 private:
  struct Directed {
    Thread thread;
    std::string process_name;
    std::uint32_t number = 0;
    RollEntry* entry = nullptr;
    Level level = Level::own;
    bool side = false;                ///< another one each time that the level is set
    Nanoseconds consumed_before = 0;  ///< when the director took it
  };

  RollEntry* roll_entry_of(const Found& found);
  void give_cores(const Found& found, RollEntry& entry) const;
  void take_directed(Found& found);
  void take_helper(Found& found);
  RollEntry* forget(const ThreadId& thread);
  void touch();
  void touch_waiting();
  void measure(Nanoseconds elapsed);
  bool is_runnable(std::size_t index, Nanoseconds ran, Nanoseconds elapsed);
  void keep_samples(Nanoseconds now);
  void direct(bool is_directed_tick);
  void direct_helpers(bool is_directed_tick);
  void set_level(Directed& directed, Level level) const;

  const Nanoseconds tick_;
  const unsigned cores_number_;
  const cpu_set_t cores_;
  Roll* const roll_;
  SampleRing* const samples_;
  Policy policy_;
  Duty duty_;
  std::vector<Directed> directed_;  // by the policy's indices
  std::vector<Helper> helpers_;
  Figures figures_;
  std::uint32_t rescues_ = 0, next_number_ = 0;
  bool was_loose_ = false;  ///< the last tick belonged to all
  Nanoseconds start_ = -1, last_ = 0;
  std::size_t idle_turn_ = 0;   // from where on idle threads are asked for their state
  std::size_t touch_turn_ = 0;  // from where on waiting threads are touched
};

}  // namespace orrery::director
