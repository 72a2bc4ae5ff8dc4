// SPDX-License-Identifier: Apache-2.0
/*
 * (Or GPL-2.0-only, as part of a kernel.)
 *
 * The laboratory's additions to User Mode Linux (lab.c); kernel/build inserts the calls.
 */
#ifndef LAB_H
#define LAB_H

#include <linux/types.h>

struct dir_context;
struct file;
struct inode;
struct kstatfs;
struct mm_struct;
struct super_block;
struct time_travel_event;
struct uml_pt_regs;
struct virtio_device;
struct virtqueue;
struct vm_area_struct;

/* Advance virtual time by the cost of a system call, or of a packet at an interface. */
void lab_charge_system_call(struct uml_pt_regs* regs);
void lab_charge_packet(void);
u64 lab_tick_phase(void);
/* Called after a general protection fault of a program. If the instruction would show this
 * machine's processor, executes it and returns true. */
bool lab_execute_instruction(struct uml_pt_regs* regs);
/* A program calls, or has called, the vsyscall page (lab_vsyscall.c). */
bool lab_enter_vsyscall(struct uml_pt_regs* regs);
void lab_execute_vsyscall(struct uml_pt_regs* regs, int number);

/* Clocks that programs read without the kernel (lab_time.h): map the page into a program; a
 * program is about to run; a program has stopped. */
struct vm_area_struct* lab_map_time(struct mm_struct* mm, unsigned long address);
void lab_enter_user(void);
void lab_leave_user(void);

/* Interrupts and notices without messages (lab_shared.h). */
void lab_takes_interrupts(int device, struct time_travel_event* event, u64* queues,
                          struct virtio_device* vdev);
void lab_forget_queue(struct virtqueue* queue);
void lab_take_interrupts(void);
bool lab_note_kick(int device, struct virtqueue* queue);
/* The host has been switched off. */
void lab_tell_end(void);

/* A file is executed, or mapped to be executed (lab_executed.c). */
void lab_note_executed(struct file* file);

/* Times and owners of files on the machine (lab_file_times.c). */
void lab_show_owner(struct inode* inode);
void lab_show_times(struct inode* inode);
void lab_begin_times(struct inode* inode);
void lab_keep_times(struct inode* inode, struct file* file);

/* Numbers of files on the machine, and the space that they take there (lab_file_numbers.c). */
u64 lab_number(struct super_block* sb, const char* path, u64 machines);
u64 lab_entry_number(struct file* folder, const char* name, size_t length, u64 machines);
u64 lab_blocks(struct inode* inode, u64 machines);
void lab_show_space(struct super_block* sb, struct kstatfs* space);
/* The order of entries in a folder on the machine (lab_file_order.c). */
int lab_read_folder(struct file* folder, struct dir_context* to, void* stream);

/* Floating-point registers that stay in stubs. */
void lab_save_fp(void);
int lab_load_fp(int stub);
int lab_keep_fp(int stub);
void lab_drop_fp(int stub);

#endif
