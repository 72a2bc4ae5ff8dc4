/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits what a compromised guest, its kernel included, can do on the machine. The guest's kernel
 * has no capabilities and cannot get any. The machine's kernel executes only the system calls that
 * this kind of guest needs (calls.c; seccomp). On machines with Landlock, it opens files
 * only where it must, and reaches no process and no socket but its own. Each of these measures is a
 * second line behind a root with nothing else in it (root.c) and behind namespaces (enter.c).
 *
 * Descriptors 1, 2 and 4 are files of the machine. So fchmod is not allowed: it could turn such a
 * file into a program that runs as the user of the laboratory.
 *
 * Programs of the guest run under the same filter, but User Mode Linux takes their system calls
 * before the filter. Only calls into the vsyscall page, which would show the machine's clock, reach
 * the filter, which passes them to the guest's kernel by SIGSYS (../kernel/lab_vsyscall.c).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "enter.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- Capabilities */

static void drop_capabilities(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	const struct __user_cap_data_struct none[2] = { { 0 }, { 0 } };
	const unsigned long bits = SECURE_ALL_BITS | SECURE_ALL_LOCKS;

	for (int one = 0; prctl(PR_CAPBSET_READ, one) >= 0; one++)
		check(prctl(PR_CAPBSET_DROP, one), "drop", "capabilities");
	check(prctl(PR_SET_SECUREBITS, bits), "drop", "capabilities");
	check(syscall(SYS_capset, &header, none), "drop", "capabilities");
	check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "drop", "privileges");
}

/* ---- Files: Landlock (Salaün, linux/landlock.h), by the bits of its versions */

enum {
	kExecute = 1 << 0,
	kRead = 1 << 2 | 1 << 3,
	kNullDevice = 1 << 1 | 1 << 2,
	kAllOfVersion2 = (1 << 14) - 1,
	kTruncate = 1 << 14, /* since version 3 */
	kScopes = 1 << 0 | 1 << 1, /* abstract sockets and signals, since version 6 */
};

struct rules {
	uint64_t files, network, scopes;
};

static void allow(int rules, const char *path, uint64_t access)
{
	struct landlock_path_beneath_attr rule = {
		.allowed_access = access,
		.parent_fd = open(path, O_PATH | O_CLOEXEC),
	};

	check(rule.parent_fd, "open", path);
	check(syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0),
	      "restrict access to", path);
	close(rule.parent_fd);
}

static void restrict_files(void)
{
	const long version = syscall(SYS_landlock_create_ruleset, NULL, 0,
				     LANDLOCK_CREATE_RULESET_VERSION);
	const uint64_t all = kAllOfVersion2 | (version >= 3 ? kTruncate : 0);
	const struct rules handled = { all, version >= 4 ? 3 : 0, version >= 6 ? kScopes : 0 };
	const size_t bytes = version >= 6 ? 24 : version >= 4 ? 16 : 8;
	int rules;

	if (version < 2) /* version 1 cannot move a file to another folder */
		return;
	rules = syscall(SYS_landlock_create_ruleset, &handled, bytes, 0);
	check(rules, "restrict", "files");
	allow(rules, "/", kRead);
	allow(rules, "/kernel", 1 << 2 | kExecute);
	allow(rules, "/lib64", kRead | kExecute); /* the kernel's loader */
	allow(rules, "/dev/null", kNullDevice | (all & kTruncate));
	allow(rules, "/tmp", all & ~kExecute);
	allow(rules, "/guest/out", all & ~kExecute);
	check(syscall(SYS_landlock_restrict_self, rules, 0), "restrict", "files");
	close(rules);
}

/* ---- System calls */

/* Calls into the vsyscall page, which lies at the end of the address space. */
static const unsigned int kVsyscalls[] = { SYS_gettimeofday, SYS_time, SYS_getcpu };

enum {
	kNewNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
			 CLONE_NEWPID | CLONE_NEWNET,
	kLastCall = 450, /* known to this file; later ones fail with ENOSYS */
	kMostSteps = 512,
};

struct filter {
	struct sock_filter step[kMostSteps];
	unsigned short count;
};

static void add(struct filter *filter, unsigned short code, unsigned int value,
		unsigned char if_so, unsigned char if_not)
{
	if (filter->count == kMostSteps) {
		errno = E2BIG;
		fail("restrict", "system calls");
	}
	filter->step[filter->count++] = (struct sock_filter){ code, if_so, if_not, value };
}

static void load(struct filter *filter, size_t offset)
{
	add(filter, BPF_LD | BPF_W | BPF_ABS, offset, 0, 0);
}

static void end_with(struct filter *filter, unsigned int action)
{
	add(filter, BPF_RET | BPF_K, action, 0, 0);
}

static void allow_calls(struct filter *filter, const struct calls *calls)
{
	for (size_t i = 0; i < calls->count; i++) {
		add(filter, BPF_JMP | BPF_JEQ | BPF_K, calls->all[i], 0, 1);
		end_with(filter, SECCOMP_RET_ALLOW);
	}
}

/* Each group of steps expects the number of the call to be loaded, and leaves it loaded. */
static void allow_limited(struct filter *filter, const struct calls *calls)
{
	for (size_t i = 0; i < calls->limited_count; i++) {
		const struct limited_call *one = &calls->limited[i];
		const unsigned int most = one->count;

		add(filter, BPF_JMP | BPF_JEQ | BPF_K, one->call, 0, most + 3);
		load(filter, offsetof(struct seccomp_data, args[one->argument]));
		for (unsigned int j = 0; j < most; j++)
			add(filter, BPF_JMP | BPF_JEQ | BPF_K, one->values[j], most - j, 0);
		end_with(filter, SECCOMP_RET_ERRNO | EPERM);
		end_with(filter, SECCOMP_RET_ALLOW);
	}
	add(filter, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, calls->clone_flag != 0 ? 5 : 4);
	load(filter, offsetof(struct seccomp_data, args[0]));
	if (calls->clone_flag != 0)
		add(filter, BPF_JMP | BPF_JSET | BPF_K, calls->clone_flag, 0, 1);
	add(filter, BPF_JMP | BPF_JSET | BPF_K, kNewNamespaces, 0, 1);
	end_with(filter, SECCOMP_RET_ERRNO | EPERM);
	end_with(filter, SECCOMP_RET_ALLOW);
}

static void tell_vsyscalls(struct filter *filter)
{
	for (size_t i = 0; i < COUNT(kVsyscalls); i++) {
		add(filter, BPF_JMP | BPF_JEQ | BPF_K, kVsyscalls[i], 0, 4);
		load(filter, offsetof(struct seccomp_data, instruction_pointer) + 4);
		add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0xffffffff, 0, 1);
		end_with(filter, SECCOMP_RET_TRAP);
		end_with(filter, SECCOMP_RET_ALLOW);
	}
}

static void restrict_calls(const struct calls *calls)
{
	static struct filter filter;
	struct sock_fprog program = { .filter = filter.step };

	load(&filter, offsetof(struct seccomp_data, arch));
	add(&filter, BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	end_with(&filter, SECCOMP_RET_KILL_PROCESS);
	load(&filter, offsetof(struct seccomp_data, nr));
	allow_calls(&filter, calls);
	allow_limited(&filter, calls);
	tell_vsyscalls(&filter);
	add(&filter, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 1, 0);
	add(&filter, BPF_JMP | BPF_JGT | BPF_K, kLastCall, 0, 1);
	end_with(&filter, SECCOMP_RET_ERRNO | ENOSYS);
	end_with(&filter, SECCOMP_RET_ERRNO | EPERM);
	program.len = filter.count;
	check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "restrict", "system calls");
}

void confine(const struct calls *calls)
{
	drop_capabilities();
	restrict_files();
	restrict_calls(calls);
}
