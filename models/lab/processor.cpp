// SPDX-License-Identifier: Apache-2.0
#include "processor.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace orrery::lab {

/// Asking for what is so anyway is refused where it cannot be otherwise.
bool cpuid_can_be_hidden() {
  constexpr int kSetCpuid = 0x1012;
  return syscall(SYS_arch_prctl, kSetCpuid, 1) == 0;
}

}  // namespace orrery::lab
