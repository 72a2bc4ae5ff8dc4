// SPDX-License-Identifier: Apache-2.0
//
// How the system schedules a thread: read, changed, and given back as it was. All priorities that
// the director uses are here, with their order.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <cstdint>

namespace orrery::director {

/// What can be written into memory that processes share.
struct Scheduling {
  std::uint32_t policy = SCHED_OTHER;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0, deadline = 0, period = 0;

  bool is_real_time() const;
  bool operator==(const Scheduling&) const = default;
};

/// What the director makes of a thread, from least to most. Below the interrupt threads of drivers
/// (priority 50), which everything waits for.
enum class Level : std::uint8_t {
  own,       ///< as it was
  waiting,   ///< SCHED_IDLE: where a core has nothing else to do
  ordinary,  ///< SCHED_BATCH: the least of ordinary threads, in ticks that belong to all
  standby,   ///< SCHED_FIFO from here on
  running,
  helper,
  director,
  guardian,
};

/// The system brings the account of a thread that runs up to date only when it touches it, at the
/// latest at its next tick (4 ms later with 250 of them a second). A change of priority does touch
/// it: so each level has two priorities that mean the same, and `side` says which.
Scheduling scheduling_of(Level level, bool side);

/// Whether a thread has this from the director, or from one that was directed when it was born.
bool is_directed(const Scheduling& scheduling);

/// 0, or the error of the system (ESRCH: there is no such thread any more).
int read_scheduling(pid_t thread, Scheduling& scheduling);
int set_scheduling(pid_t thread, const Scheduling& scheduling);

}  // namespace orrery::director
