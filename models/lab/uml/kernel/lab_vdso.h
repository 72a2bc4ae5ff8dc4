// SPDX-License-Identifier: Apache-2.0
/*
 * (Or GPL-2.0-only, as part of a kernel.)
 *
 * The programs' side of lab_time.h, in the vDSO that the kernel gives to each program.
 */
#ifndef LAB_VDSO_H
#define LAB_VDSO_H

#include <lab_time.h>

extern struct lab_time_page lab_time_page __attribute__((visibility("hidden")));

/* Returns nanoseconds, or 0 if only the kernel can read the clock. */
static inline __u64 lab_read_clock(int number) {
  struct lab_time_page* const page = &lab_time_page;
  const struct lab_clock* clock = &page->monotonic;
  __u64 offset = 0, before, now;

  if (number == CLOCK_REALTIME)
    offset = page->real_offset;
  else if (number == CLOCK_BOOTTIME)
    offset = page->boot_offset;
  else if (number == CLOCK_TAI)
    offset = page->tai_offset;
  else if (number == CLOCK_MONOTONIC_RAW)
    clock = &page->raw;
  else if (number != CLOCK_MONOTONIC)
    return 0;
  /* One atomic step: if the kernel interrupts, another program may have advanced time. */
  do {
    before = *(volatile __u64*)&page->now;
    now = before + LAB_READING_NS;
    if (now >= *(volatile __u64*)&page->limit) return 0;
  } while (!__sync_bool_compare_and_swap(&page->now, before, now));
  return clock->base_ns + offset +
         ((clock->shifted_ns + (now / LAB_READING_NS - clock->last_cycle) * clock->multiplier) >>
          clock->shift);
}

static inline int lab_clock_gettime(int number, struct __kernel_old_timespec* to) {
  const __u64 ns = lab_read_clock(number);

  if (ns == 0 || !to) return 0;
  to->tv_sec = ns / 1000000000;
  to->tv_nsec = ns % 1000000000;
  return 1;
}

static inline int lab_gettimeofday(struct __kernel_old_timeval* to) {
  const __u64 ns = to ? lab_read_clock(CLOCK_REALTIME) : 0;

  if (ns == 0) return 0;
  to->tv_sec = ns / 1000000000;
  to->tv_usec = ns % 1000000000 / 1000;
  return 1;
}

#endif
