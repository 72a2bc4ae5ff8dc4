// SPDX-License-Identifier: Apache-2.0
/*
 * (Or GPL-2.0-only, as part of a kernel.)
 *
 * Programs of a host read its clocks without a system call, from a page that they share with its
 * kernel. Reading moves time on by 256 ns, as it does in the kernel; a program may do that itself
 * until something else is to happen. What it writes is checked: at most it deceives the programs of
 * its own host.
 */
#ifndef LAB_TIME_H
#define LAB_TIME_H

#include <linux/types.h>

#define LAB_READING_NS 256 /* the kernel's TIMER_MULTIPLIER */

/* As struct tk_read_base of the kernel. */
struct lab_clock {
  __u64 base_ns, shifted_ns, last_cycle;
  __u32 multiplier, shift;
};

struct lab_time_page {
  __u64 now, limit; /* a program may set `now` to less than `limit` */
  struct lab_clock monotonic, raw;
  __u64 real_offset, boot_offset, tai_offset;
};

#endif
