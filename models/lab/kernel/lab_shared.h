// SPDX-License-Identifier: Apache-2.0
/*
 * (Or GPL-2.0-only, as part of a kernel.)
 *
 * What the laboratory and a host's kernel tell each other without a message: a third page behind
 * the two of the calendar (linux/um_timetravel.h). A message costs two switches between processes,
 * and a frame needs four of them without this.
 *
 * The host writes only while it runs, the laboratory only while it waits.
 */
#ifndef LAB_SHARED_H
#define LAB_SHARED_H

#include <linux/types.h>

#define LAB_SHARED_OFFSET 8192
#define LAB_SHARED_MAGIC 0x4f52524c
#define LAB_MOST_DEVICES 32
#define LAB_MOST_KICKS 128

/* The host has offered chains up to `index` to a queue. */
struct lab_kick {
  __u64 time;
  __u16 device, queue, index, reserved;
};

struct lab_shared {
  __u32 magic;
  __u32 quiet;      /* devices (bits) of which the host is to note here that they send */
  __u64 interrupts; /* bit 2 * device + queue: as soon as the host runs */
  __u32 takes;      /* devices whose interrupts the host takes here */
  __u32 kicks;      /* noted */
  struct lab_kick kick[LAB_MOST_KICKS];
};

#endif
