// SPDX-License-Identifier: Apache-2.0
/*
 * (Or GPL-2.0-only, as part of a kernel.)
 *
 * The laboratory's additions to User Mode Linux: costs of actions in virtual time, and the
 * processor of a host, which is the same on every machine.
 *
 * Programs learn about the processor from RDTSC, RDTSCP and CPUID. The machine's kernel stops a
 * program at these instructions (userspace_tramp asks for it by PR_SET_TSC and ARCH_SET_CPUID) with
 * a general protection fault, and they are executed here instead:
 *
 * - the time stamp counter is the host's time in nanoseconds, and reading it takes as much virtual
 *   time as reading any clock;
 * - the processor has 64 bits with SSE4.2 and POPCNT, without AVX, and above all without RDRAND and
 *   RDSEED, whose numbers cannot be repeated. Its caches are invented.
 *
 * Layout of leaves: Intel, Software Developer's Manual, volume 2, CPUID.
 */
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/string.h>
#include <linux/time-internal.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <asm/delay.h>
#include <asm/ptrace.h>
#include <asm/unistd.h>
#include <kern_util.h>
#include <lab.h>
#include <lab_time.h>
#include <registers.h>
#include <sysdep/ptrace.h>

static unsigned int lab_syscall_ns, lab_packet_ns, lab_tick_ns, lab_first_process;

static int __init lab_set_syscall_ns(char *text)
{
	return kstrtouint(text, 0, &lab_syscall_ns) == 0;
}
__setup("lab_syscall_ns=", lab_set_syscall_ns);

static int __init lab_set_packet_ns(char *text)
{
	return kstrtouint(text, 0, &lab_packet_ns) == 0;
}
__setup("lab_packet_ns=", lab_set_packet_ns);

static int __init lab_set_tick_ns(char *text)
{
	return kstrtouint(text, 0, &lab_tick_ns) == 0;
}
__setup("lab_tick_ns=", lab_set_tick_ns);

static int __init lab_set_first_process(char *text)
{
	return kstrtouint(text, 0, &lab_first_process) == 0;
}
__setup("lab_first_process=", lab_set_first_process);

/* Programs use process numbers as random numbers, so each host begins with another number. */
static int __init lab_number_processes(void)
{
	if (lab_first_process)
		idr_set_cursor(&init_pid_ns.idr, lab_first_process);
	return 0;
}
late_initcall(lab_number_processes);

/* Offset of the host's ticks from whole ticks of its clock. Real machines are not synchronised.
 * Without offsets, actions of kernels at ticks (batman-adv sends at them) would happen on all
 * hosts in the same nanosecond, and collide on a radio channel. */
u64 lab_tick_phase(void)
{
	return lab_tick_ns % TICK_NSEC;
}

/* Whether the call reads a clock of the kernel's clock source. Such reading costs virtual time
 * by itself, with or without a system call (lab_time.h), and programs must not see a difference. */
static bool is_charged(int number, long clock)
{
	switch (number) {
	case __NR_gettimeofday:
		return true;
	case __NR_clock_gettime:
		return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC ||
		       clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_BOOTTIME || clock == CLOCK_TAI ||
		       clock == CLOCK_REALTIME_ALARM || clock == CLOCK_BOOTTIME_ALARM;
	default:
		return false;
	}
}

/* Calls that read other clocks (coarse, processor time). A program that polls them must go on,
 * too. */
static bool reads_clock(int number)
{
	return number == __NR_clock_gettime || number == __NR_time || number == __NR_times ||
	       number == __NR_getrusage || number == __NR_sysinfo;
}

void lab_charge_system_call(struct uml_pt_regs *regs)
{
	const int number = UPT_SYSCALL_NR(regs);
	const unsigned int cost = lab_syscall_ns + (reads_clock(number) ? LAB_READING_NS : 0);

	if (cost && time_travel_mode == TT_MODE_EXTERNAL &&
	    !is_charged(number, UPT_SYSCALL_ARG1(regs))) {
		um_ndelay(cost);
		cond_resched();
	}
}

void lab_charge_packet(void)
{
	if (lab_packet_ns && time_travel_mode == TT_MODE_EXTERNAL)
		um_ndelay(lab_packet_ns);
}

struct leaf {
	u32 eax, ebx, ecx, edx;
};

#define CACHE(type, level) ((type) | (level) << 5 | 1 << 8)
#define WAYS_OF_64_BYTES(ways) (((ways) - 1) << 22 | 63)

static const char vendor[] = "GenuineIntel"; /* with another vendor, libraries read more leaves */
static const char brand[48] = "Orrery laboratory, a processor in virtual time";

static const struct leaf caches[] = {
	{ CACHE(1, 1), WAYS_OF_64_BYTES(8), 64 - 1, 0 },    /* 32 KiB of data */
	{ CACHE(2, 1), WAYS_OF_64_BYTES(8), 64 - 1, 0 },    /* 32 KiB of instructions */
	{ CACHE(3, 2), WAYS_OF_64_BYTES(8), 512 - 1, 0 },   /* 256 KiB */
	{ CACHE(3, 3), WAYS_OF_64_BYTES(16), 8192 - 1, 0 }, /* 8 MiB */
};

static struct leaf basic(u32 number, u32 sub)
{
	struct leaf is = {};

	switch (number) {
	case 0:
		is.eax = 7;
		memcpy(&is.ebx, vendor, 4);
		memcpy(&is.edx, vendor + 4, 4);
		memcpy(&is.ecx, vendor + 8, 4);
		break;
	case 1:
		is.eax = 0x000106a5;
		is.ebx = 1 << 16 | 8 << 8;
		/* SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT */
		is.ecx = 1 << 0 | 1 << 9 | 1 << 13 | 1 << 19 | 1 << 20 | 1 << 23;
		is.edx = 0x078bfbff; /* features of every 64-bit processor */
		break;
	case 2:
		is.eax = 0xff01; /* see leaf 4 */
		break;
	case 4:
		if (sub < ARRAY_SIZE(caches))
			is = caches[sub];
		break;
	}
	return is;
}

static struct leaf extended(u32 number)
{
	struct leaf is = {};

	switch (number) {
	case 0x80000000:
		is.eax = 0x80000008;
		break;
	case 0x80000001:
		is.ecx = 1 << 0;                          /* LAHF */
		is.edx = 1 << 11 | 1 << 20 | 1 << 27 | 1 << 29; /* SYSCALL, NX, RDTSCP, 64 bits */
		break;
	case 0x80000002 ... 0x80000004:
		memcpy(&is, brand + 16 * (number - 0x80000002), 16);
		break;
	case 0x80000006:
		is.ecx = 256 << 16 | 6 << 12 | 64;
		break;
	case 0x80000007:
		is.edx = 1 << 8; /* the counter's rate is constant */
		break;
	case 0x80000008:
		is.eax = 48 << 8 | 48;
		break;
	}
	return is;
}

static void execute_cpuid(struct uml_pt_regs *regs)
{
	u32 number = regs->gp[HOST_AX], sub = regs->gp[HOST_CX];
	struct leaf is = number & 0x80000000 ? extended(number) : basic(number, sub);

	regs->gp[HOST_AX] = is.eax;
	regs->gp[HOST_BX] = is.ebx;
	regs->gp[HOST_CX] = is.ecx;
	regs->gp[HOST_DX] = is.edx;
}

static void execute_rdtsc(struct uml_pt_regs *regs)
{
	u64 now = ktime_get_boottime_ns();

	regs->gp[HOST_AX] = (u32)now;
	regs->gp[HOST_DX] = now >> 32;
}

static bool is_at(const struct uml_pt_regs *regs, const char *bytes, unsigned int count)
{
	u8 found[3];

	return copy_from_user(found, (void __user *)UPT_IP(regs), count) == 0 &&
	       memcmp(found, bytes, count) == 0;
}

bool lab_execute_instruction(struct uml_pt_regs *regs)
{
	unsigned int bytes = 2;

	if (is_at(regs, "\x0f\x31", 2)) {
		execute_rdtsc(regs);
	} else if (is_at(regs, "\x0f\xa2", 2)) {
		execute_cpuid(regs);
	} else if (is_at(regs, "\x0f\x01\xf9", 3)) { /* RDTSCP */
		execute_rdtsc(regs);
		regs->gp[HOST_CX] = 0;
		bytes = 3;
	} else {
		return false;
	}
	UPT_IP(regs) += bytes;
	return true;
}

/*
 * Floating-point registers of a program stay in its process on the machine (the stub) until another
 * program of that process runs or the kernel needs them. Reading and writing them at each system
 * call took a third of the call's time.
 */
static struct task_struct *fp_owner; /* its registers are in a stub only */
static int fp_stub;

static void fp_forget(void)
{
	put_task_struct(fp_owner);
	fp_owner = NULL;
}

/* Saves the registers to the place of a program that does not run. */
void lab_save_fp(void)
{
	if (!fp_owner)
		return;
	if (get_fp_registers(fp_stub, fp_owner->thread.regs.regs.fp))
		printk(KERN_ERR "lab: the floating-point registers of a stub are lost\n");
	fp_forget();
}

/* Loads the registers of the current program, unless the stub already has them. */
int lab_load_fp(int stub)
{
	if (fp_owner == current && fp_stub == stub)
		return 0;
	lab_save_fp();
	return put_fp_registers(stub, current->thread.regs.regs.fp);
}

int lab_keep_fp(int stub)
{
	if (!fp_owner)
		fp_owner = get_task_struct(current);
	fp_stub = stub;
	return 0;
}

/* The stub ends. */
void lab_drop_fp(int stub)
{
	if (fp_owner && fp_stub == stub)
		fp_forget();
}

#include "lab_vsyscall.c"
