// SPDX-License-Identifier: Apache-2.0
/*
 * (Or GPL-2.0-only, as part of a kernel.)
 *
 * Data that the laboratory and a host's kernel exchange without messages: a third page after the
 * two of the calendar (linux/um_timetravel.h). A message costs two switches between processes.
 * Without this page a frame needs four switches; with it, a window of many frames needs two.
 *
 * The host writes only while it runs, the laboratory only while the host waits.
 */
#ifndef LAB_SHARED_H
#define LAB_SHARED_H

#include <linux/types.h>

#define LAB_SHARED_OFFSET 8192
#define LAB_SHARED_MAGIC 0x4f52524c
#define LAB_MOST_DEVICES 32
#define LAB_MOST_KICKS 96
#define LAB_MOST_ARRIVALS 96

/* The host has offered chains up to `index` to a queue. */
struct lab_kick {
  __u64 time;
  __u16 device, queue, index, reserved;
};

/* A frame lies in a buffer of the device's receiving queue. The host sees the frame at `time`,
 * when the used index becomes `index`. */
struct lab_arrival {
  __u64 time;
  __u16 device, index;
  __u32 reserved;
};

struct lab_shared {
  __u32 magic;
  __u32 quiet;          /* devices (bits) that note here that they send, without a message */
  __u64 interrupts;     /* bit 2 * device + queue: interrupt when the host runs */
  __u32 takes;          /* devices (bits) whose interrupts the host takes here */
  __u32 kicks;          /* number of notes in `kick` */
  __u32 given, arrived; /* arrivals so far: by the laboratory; seen by the host */
  __u32 ended;          /* 1: the host has been switched off */
  struct lab_kick kick[LAB_MOST_KICKS];
  struct lab_arrival arrival[LAB_MOST_ARRIVALS]; /* arrival n is at n % LAB_MOST_ARRIVALS */
};

#endif
