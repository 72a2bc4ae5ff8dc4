// SPDX-License-Identifier: Apache-2.0
/*
 * (Or GPL-2.0-only, as part of a kernel.)
 *
 * Programs of a host read its clocks without a system call, from a page that they share with its
 * kernel. Reading advances time by 256 ns, as it does in the kernel; a program may do so itself
 * until the next event. The kernel checks the time that a program writes. A wrong time can only
 * deceive other programs of the same host.
 */
#ifndef LAB_TIME_H
#define LAB_TIME_H

#include <linux/types.h>

#define LAB_READING_NS 256 /* the kernel's TIMER_MULTIPLIER */

/* Like struct tk_read_base of the kernel. */
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
