// SPDX-License-Identifier: Apache-2.0
/*
 * (Or GPL-2.0-or-later, as part of QEMU.)
 *
 * What other files of QEMU call of orrery.c. Without -device orrery-clock all of it does nothing.
 */
#ifndef ACCEL_TCG_ORRERY_H
#define ACCEL_TCG_ORRERY_H

#include "net/net.h"
#include "system/runstate.h"

/* Instructions of a processor's turn, where several take turns. A prime: turns that are a multiple of a
 * loop would always end at the same place in it, such as with a lock that another processor waits for. */
#define ORRERY_TURN 10007

/* Whether virtual time is granted. */
bool orrery_grants(void);
/* The processor's thread has nothing to execute: moves time to the next timer and executes it. */
bool orrery_idle(void);
/* The processor's thread is between two instructions: resets the machine if the guest asked. Comes
 * after the work that the instruction left, such as switching the processor off. */
bool orrery_reset_if_asked(void);
/* The processor spins: the turn of the next begins. The second function says whether it was called
 * since. */
void orrery_yield(void);
bool orrery_take_yield(void);
/* The driver of the network card switches it on or off. */
void orrery_card_is(NetClientState* card, bool on);
/* The guest asks for a reset. True: orrery_reset_if_asked() does it. */
bool orrery_ask_reset(ShutdownCause reason);
/* The guest switches the machine off, or breaks down. Does not return if time is granted. */
void orrery_off(ShutdownCause reason, int status);

#endif
