// SPDX-License-Identifier: Apache-2.0
//
// Futexes and robust locks.
#include "llf/system.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace orrery::llf {

void RobustLock::make() {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex_, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

bool RobustLock::lock() {
  if (pthread_mutex_lock(&mutex_) != EOWNERDEAD) return false;
  pthread_mutex_consistent(&mutex_);
  return true;
}

bool RobustLock::take_if_dead() {
  const int found = pthread_mutex_trylock(&mutex_);
  if (found == EOWNERDEAD) pthread_mutex_consistent(&mutex_);
  if (found != 0 && found != EOWNERDEAD) return false;
  pthread_mutex_unlock(&mutex_);
  return true;
}

bool Linux::wait(std::atomic<std::uint32_t>& bell, std::uint32_t seen, std::int64_t timeout_ns) {
  const timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  // True after a signal or an earlier ring, too: the caller checks its word again.
  return syscall(SYS_futex, &bell, FUTEX_WAIT, seen, &timeout, nullptr, 0) == 0 ||
         errno != ETIMEDOUT;
}

void Linux::wake(std::atomic<std::uint32_t>& bell) {
  syscall(SYS_futex, &bell, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

std::int64_t Linux::now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace orrery::llf
