// SPDX-License-Identifier: Apache-2.0
/*
 * (Or GPL-2.0-or-later, as part of QEMU.)
 *
 * Messages between Orrery and a QEMU whose virtual time Orrery grants (tree/orrery.c), over a
 * socket pair (AF_UNIX, SOCK_STREAM). A message is this header and, with FRAME and ARRIVE, a frame.
 * Both processes run on one machine, so numbers have its byte order. Times are nanoseconds of virtual
 * time since the start.
 *
 * QEMU executes only between a GRANT and the STOPPED that answers it. In that time it may send
 * FRAMEs, and waits for the LEFT that answers each. ARRIVE, DOWN and UP come before the GRANT that
 * covers their time, by ascending time. At one time QEMU executes the actions in the order of
 * their numbers here, after all timers of this nanosecond; so nothing depends on the grants.
 */
#ifndef ORRERY_PROTOCOL_H
#define ORRERY_PROTOCOL_H

#include <stdint.h>

enum orrery_kind {
  /* From QEMU. */
  ORRERY_STOPPED = 0x6f720201, /* all before `time` is done; goes on at `next` by itself; frames
                                  for which the cards had no room since the last: `number` */
  ORRERY_FRAME,                /* card `number` sends the frame at `time` */
  ORRERY_OFF,                  /* the guest has ended at `time`; `number` 0: switched off */
  /* To QEMU. */
  ORRERY_GRANT, /* execute all before `time` */
  ORRERY_DOWN,  /* the link of card `number` goes down at `time` */
  ORRERY_UP,    /* ... and up */
  ORRERY_LEFT,  /* the last bit of the frame of card `number` has left at `time` */
  ORRERY_ARRIVE /* the frame arrives at card `number` at `time` */
};

/* A kind says the version, too: with another version of this file, all kinds change. */
struct orrery_message {
  uint32_t kind;
  uint32_t number;
  uint32_t bytes; /* of the frame; 0: there is none */
  uint32_t cards; /* STOPPED, OFF: that are on */
  int64_t time;
  int64_t next;
  int64_t executed; /* STOPPED, OFF: instructions since the start */
  int64_t on;       /* STOPPED, OFF: for how long cards were on until `time`, added up */
};

enum {
  ORRERY_MOST_CARDS = 32,
  ORRERY_LEAST_FRAME = 14,       /* bytes: an Ethernet header */
  ORRERY_MOST_FRAME = 64 * 1024, /* bytes; longer ones are not sent */
};

#define ORRERY_NEVER INT64_MAX

#endif
