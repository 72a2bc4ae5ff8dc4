// SPDX-License-Identifier: Apache-2.0
/*
 * Least-LVT-first scheduling for simulators whose processes share a machine: of all federates of a
 * group at most as many run as there are cores, those with the least local virtual time (LVT). For
 * any simulator, in C; it needs no other part of Orrery (pkg-config orrery-llf). companions/llf/README.md says
 * how to use it, and why it neither deadlocks nor livelocks.
 *
 * A federate is a thread, usually that of a process, from llf_join to llf_leave. It runs only with
 * a token. It keeps four promises:
 *   - it reports its LVT (llf_lvt) and calls llf_safe_point again and again;
 *   - it never waits with a token: to wait for another federate it calls llf_wait or llf_gvt, to
 *     block in the system llf_pause and afterwards llf_resume;
 *   - it announces messages after it has put them where the receiver finds them (llf_message_to),
 *     and calls llf_messages_read before it looks for messages of others;
 *   - when a call returns LLF_GVT, it calls llf_gvt soon.
 *
 * Only the thread that joined makes these calls. They return LLF_ERROR on failure; llf_error() then
 * returns a sentence about it. The structures belong to one version of the ABI, whose number is
 * that of the shared library.
 */
#ifndef ORRERY_LLF_H
#define ORRERY_LLF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llf llf;

/* A point in simulation time, in any unit: times are only compared. From LLF_EARLIEST to LLF_NEVER,
 * which is after all others. */
typedef int64_t llf_time;
#define LLF_EARLIEST (-((llf_time)1 << 60))
#define LLF_NEVER (((llf_time)1 << 60) - 1)

enum {
  LLF_ERROR = -1,
  LLF_MESSAGE = 1, /* there are messages that have not been read */
  LLF_GVT = 2,     /* another federate has begun a round of GVT: join it by llf_gvt */
  LLF_DEATH = 4,   /* a federate has died; llf_error() says which. Reported once */
  LLF_DEADLINE = 8 /* the given time has passed without any of these */
};

typedef struct llf_options {
  size_t size;     /* sizeof(llf_options) */
  unsigned tokens; /* how many federates may run at a time; 0: as many as there are usable cores */
  unsigned slots;  /* most federates of the group, at most 1024; 0: 64. The first to join decides */
  int64_t hold_ns; /* least time that a token is kept at safe points, so that federates whose times
                      interleave do not switch at every event; 0: 100 us, negative: not at all.
                      Affects only the speed. */
} llf_options;

/* Joins a group, creating it if there is none, and waits for a token. Names of groups and federates
 * consist of letters, digits, and . _ - ; federate names are unique in a group, and groups of
 * different users are different groups. `options` may be NULL. Returns NULL on failure. */
llf* llf_join(const char* group, const char* name, const llf_options* options);

/* Waits until `federates` federates have joined, at most `timeout_ns` (negative: for ever). */
int llf_meet(llf* federate, unsigned federates, int64_t timeout_ns);

/* Closes the group for new federates: its name is free again, and nothing of the group stays in the
 * system however its processes end. Calling it more than once is no failure. */
int llf_seal(llf* federate);

/* Leaves the group and frees everything, also after a call that failed. After a fork the child may
 * call only this function. */
int llf_leave(llf* federate);

/* Reports the federate's LVT: events that it may still execute have this time or a later one. The
 * LVT may decrease, as in rollbacks, but not below the GVT that llf_gvt has returned. */
int llf_lvt(llf* federate, llf_time lvt);

/* If a ready federate has a smaller LVT, gives the token away and waits for the next one. Otherwise
 * costs three loads. Returns 0, or LLF_GVT and LLF_DEATH. */
int llf_safe_point(llf* federate);

/* The number of a federate, for llf_message_to, or LLF_ERROR if there is none of that name. */
int llf_find(llf* federate, const char* name);

/* Announces a message with this time to `peer`. Call it after the message is where the peer finds
 * it: the peer, if it waits, wakes and looks. */
int llf_message_to(llf* federate, int peer, llf_time time);

/* Call it before looking for messages. Messages announced after this call count as unread. */
int llf_messages_read(llf* federate);

/* Waits without a token, at most `timeout_ns` (negative: for ever). Returns those of LLF_MESSAGE,
 * LLF_GVT and LLF_DEATH that hold, at once if any does, or LLF_DEADLINE. */
int llf_wait(llf* federate, int64_t timeout_ns);

/* A round of global virtual time, with all federates of the group: each reports the lowest time
 * that it may still execute, or that it has sent since its last round, and how many more messages
 * it has sent than received. `gvt` becomes the lowest, `in_transit` the sum. As long as the sum is
 * not 0, messages are in transit and gvt means nothing: read messages and call it again. Waits
 * without a token; after the first call the others get LLF_GVT at their next safe point or from
 * llf_wait. Returns 0, or LLF_DEATH if a federate has died without contributing. */
int llf_gvt(llf* federate, llf_time lowest, int64_t sent_minus_received, llf_time* gvt,
            int64_t* in_transit);

/* Gives the token away, until llf_resume, for a call that blocks in the system. */
int llf_pause(llf* federate);
int llf_resume(llf* federate);

/* A sentence about the last failure, or the last reported death, in this thread. */
const char* llf_error(void);

/* Removes what a group without federates has left in the system; llf_join does so, too. Succeeds
 * also if there is nothing to remove. */
int llf_clean(const char* group);

/* A federate as other processes see it. */
typedef struct llf_view {
  char name[48];
  int process;
  char state[12]; /* running, ready, waiting, paused, gvt, meeting */
  llf_time lvt;
  llf_time unread; /* of its earliest unread message, or LLF_NEVER */
} llf_view;

/* Lists a group: up to `room` federates in the order in which they would run. `size` is
 * sizeof(llf_view). Returns the number of federates, 0 if there is no such group. */
int llf_look(const char* group, llf_view* views, size_t size, unsigned room);

/* Conversion of simulation times that are doubles. Keeps their order and 49 of the 52 bits of the
 * mantissa. Infinity becomes LLF_NEVER. */
static inline llf_time llf_time_of(double time) {
  int64_t bits;
  if (time > 1.7976931348623157e308) return LLF_NEVER;
  memcpy(&bits, &time, sizeof bits);
  if (bits < 0) bits = -(bits & INT64_MAX);
  /* Rounds towards earlier times, also below zero. */
  return (bits - (bits < 0 ? 7 : 0)) / 8;
}
static inline double llf_double_of(llf_time time) {
  double result;
  int64_t bits;
  if (time >= LLF_NEVER) return 1e308 * 10;
  if (time <= LLF_EARLIEST) return -1e308 * 10;
  bits = (time < 0 ? -time : time) * 8;
  if (time < 0) bits |= INT64_MIN;
  memcpy(&result, &bits, sizeof result);
  return result;
}

#ifdef __cplusplus
}
#endif

#endif
