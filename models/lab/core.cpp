// SPDX-License-Identifier: Apache-2.0
#include "core.h"

#include "process_tree.h"

namespace orrery::lab {
namespace {

cpu_set_t only(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core), &set);
  return set;
}

}  // namespace

StayOnCore::StayOnCore() {
  if (sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  core_ = sched_getcpu();
  if (core_ < 0 || CPU_COUNT(&before_) == 1) return;
  const cpu_set_t here = only(core_);
  bound_ = sched_setaffinity(0, sizeof here, &here) == 0;
  if (!bound_) core_ = -1;
}

StayOnCore::~StayOnCore() {
  if (bound_) sched_setaffinity(0, sizeof before_, &before_);
}

void move_to_core(pid_t process, int core) {
  const cpu_set_t there = only(core);
  for_all_processes(process, [&](pid_t one) {
    for (const pid_t thread : threads_of(one)) sched_setaffinity(thread, sizeof there, &there);
  });
}

}  // namespace orrery::lab
