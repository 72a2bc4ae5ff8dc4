// SPDX-License-Identifier: Apache-2.0
//
// Reads a thread's scheduling, changes it, and restores it. All priorities that the director uses
// are here, with their order.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <cstdint>

namespace orrery::director {

/// Plain data, so that it can lie in memory that processes share.
struct Scheduling {
  std::uint32_t policy = SCHED_OTHER;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0, deadline = 0, period = 0;

  bool is_real_time() const;
  bool operator==(const Scheduling&) const = default;
};

/// The director's levels for a thread, from lowest to highest. All are below the interrupt threads
/// of drivers (priority 50), for which everything waits.
enum class Level : std::uint8_t {
  own,       ///< as before the director
  waiting,   ///< SCHED_IDLE: runs if a core has nothing else to do
  ordinary,  ///< SCHED_BATCH: the lowest of ordinary threads, in undirected ticks
  standby,   ///< SCHED_FIFO from here on
  running,
  helper,
  director,
  guardian,
};

Scheduling scheduling_of(Level level);

/// Whether a thread has this scheduling from the director, or from a parent that was directed.
bool is_directed(const Scheduling& scheduling);

/// 0, or the system's error number (ESRCH: the thread does not exist any more).
int read_scheduling(pid_t thread, Scheduling& scheduling);
int set_scheduling(pid_t thread, const Scheduling& scheduling);

}  // namespace orrery::director
