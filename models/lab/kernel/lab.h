/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What the laboratory adds to User Mode Linux (lab.c); kernel/build says where it is called.
 */
#ifndef LAB_H
#define LAB_H

#include <linux/types.h>

struct uml_pt_regs;

/* Virtual time passes, as much as a system call, or a packet at an interface, costs. */
void lab_charge_system_call(void);
void lab_charge_packet(void);
/* After a general protection fault of a program. True if it was at an instruction that would show
 * this machine's processor, which has been executed then. */
bool lab_execute_instruction(struct uml_pt_regs* regs);

#endif
