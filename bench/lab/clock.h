// SPDX-License-Identifier: Apache-2.0
//
// The clock of a host, for programs of the experiments: seconds since it began.
#pragma once

#include <time.h>

static inline double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static inline void sleep_until(double time) {
  const struct timespec at = {(time_t)time, (long)((time - (double)(time_t)time) * 1e9)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}
