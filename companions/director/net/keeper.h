// SPDX-License-Identifier: Apache-2.0
//
// Ends the machines of a run when the director is gone, however it has ended. A process of its own
// waits for the end of a pipe. The kernel's signal for the death of a parent would not do: the kernel
// forgets it when a process changes its user, as QEMU does.
#pragma once

#include <sys/types.h>

#include "director/thread.h"

namespace orrery::director {

class Keeper {
 public:
  /// Starts the process. Call it before machines are started, whose files it must not hold. Throws
  /// UsageError.
  Keeper();
  /// Ends the machines that are left.
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  void keep(pid_t machine);

 private:
  Descriptor pipe_;
  pid_t process_ = -1;
};

}  // namespace orrery::director
