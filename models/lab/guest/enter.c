/* SPDX-License-Identifier: Apache-2.0
 *
 * Starts a guest (models/lab/guest_process.cpp calls it) so that a compromised guest, its kernel
 * included, has no access to the machine:
 *
 *   enter FOLDER KERNEL SEED ROOT OUT_MEBIBYTES FILE_MEBIBYTES GROUP GROUP CALLS ARGUMENTS...
 *
 * There are three processes. The outer process enters namespaces of users, mounts, network, control
 * groups and others, makes a root there with what the guest may see (root.c), and at the end copies
 * what the guest has left in /out to FOLDER/out (results.c, disk.c). Only this process has files of the
 * machine open that could be misused, and no process of the guest can name it. The second is the
 * first process of the guest's namespace of processes. It waits for the end of the pipe at
 * descriptor 3. When it ends, so do all processes of the namespace. The third becomes the guest's
 * kernel. The last two are confined (confine.c).
 *
 * FOLDER/lab holds the sockets, which the kernel sees as /lab. The guest's own root is /guest
 * there, made of ROOT's folders (but only those files of the machine's /etc that programs need),
 * with FOLDER/guest as /lab. No file of the guest's processes is larger than FILE_MEBIBYTES. The
 * processes join the control groups GROUP (models/lab/control_groups.h; "-": none), which are
 * removed at the end. CALLS names the system calls that they may use (calls.c).
 *
 * Exit status: 0; 1 if the guest could not be started; 3 if not all of /out could be kept, with the
 * reason on the console. A program and not a script, since 128 guests start at once.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "enter.h"

enum {
	kLifeLine = 3,
	kExecuted = 4,
	kGroups = 2,
	kNotKept = 3,
	kNamespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
		      CLONE_NEWPID | CLONE_NEWCGROUP,
};

static void write_to(const char *path, const char *value)
{
	int file = open(path, O_WRONLY | O_CLOEXEC);

	check(file, "open", path);
	check(write(file, value, strlen(value)), "write", path);
	close(file);
}

/* Prevents dumps of a guest's memory on the machine, and limits the console: beyond the limit,
 * writing is an error. */
static void limit_files(const char *mebibytes)
{
	const rlim_t most = strtoull(mebibytes, NULL, 10) << 20;
	const struct rlimit no_core = { 0, 0 }, file = { most, most };

	check(setrlimit(RLIMIT_CORE, &no_core), "limit", "core");
	check(setrlimit(RLIMIT_FSIZE, &file), "limit", "file size");
	signal(SIGXFSZ, SIG_IGN);
}

/* A control group: its parent folder, and its file cgroup.procs; -1: no group. */
struct group {
	const char *name;
	int parent, members;
};

/* Opens a group while its path exists; the new root will not contain it. */
static struct group open_group(char *path)
{
	char *slash = strrchr(path, '/');
	struct group group = { .parent = -1, .members = -1 };

	if (strcmp(path, "-") == 0 || slash == NULL)
		return group;
	group.members = open(text("%s/cgroup.procs", path), O_WRONLY | O_CLOEXEC);
	check(group.members, "open", path);
	*slash = 0;
	group.name = slash + 1;
	group.parent = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	check(group.parent, "open", path);
	return group;
}

static void go_into(const struct group *group)
{
	if (group->members >= 0)
		check(write(group->members, "0", 1), "control group", group->name);
}

/* Removes an empty group. The machine's kernel may need a moment to see that it is empty. */
static void remove_group(const struct group *group)
{
	const struct timespec moment = { 0, 10 * 1000 * 1000 };

	if (group->parent < 0)
		return;
	for (int i = 0; i < 100 && unlinkat(group->parent, group->name, AT_REMOVEDIR) < 0 &&
			errno == EBUSY;
	     i++)
		nanosleep(&moment, NULL);
}

static pid_t start_kernel(const char *seed, const struct calls *calls, char **arguments)
{
	pid_t kernel = fork();

	check(kernel, "fork", "");
	if (kernel != 0)
		return kernel;
	close(kLifeLine);
	clearenv();
	setenv("LAB_SEED", seed, 1);
	setenv("TMPDIR", "/tmp", 1);
	setenv("HOME", "/tmp", 1);
	personality(ADDR_NO_RANDOMIZE); /* the same addresses in each run */
	confine(calls);
	execv("/kernel", arguments);
	fail("exec", "/kernel");
}

/* The first process of the namespace. When it ends, all processes of the namespace end. */
static _Noreturn void watch(const struct group *groups, const char *seed, const struct calls *calls,
			    char **arguments)
{
	struct pollfd watched[] = { { .fd = kLifeLine, .events = POLLIN }, { .events = POLLIN } };
	pid_t kernel;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	check(setsid(), "begin", "a session"); /* signals to its group stay in the namespace */
	for (int i = 0; i < kGroups; i++)
		go_into(&groups[i]);
	prctl(PR_SET_DUMPABLE, 0); /* the guest's kernel does not trace it */
	check(syscall(SYS_close_range, kExecuted + 1, ~0u, 0), "close", "files");
	kernel = start_kernel(seed, calls, arguments);
	close(kExecuted);
	watched[1].fd = syscall(SYS_pidfd_open, kernel, 0);
	check(watched[1].fd, "watch", "the kernel");
	signal(SIGCHLD, SIG_IGN); /* also reaps processes whose parents have ended */
	confine(calls);
	while (poll(watched, 2, -1) < 0 && errno == EINTR)
		;
	exit(0);
}

/* Enters the namespaces; the user of the machine becomes root there. */
static void become_apart(void)
{
	const unsigned int user = geteuid(), group = getegid();

	if (user == 0)
		check(syscall(SYS_setgroups, 0, NULL), "drop", "groups");
	check(unshare(kNamespaces), "unshare",
	      "(namespaces of users must be allowed: sysctl kernel.unprivileged_userns_clone)");
	write_to("/proc/self/setgroups", "deny");
	write_to("/proc/self/uid_map", text("0 %u 1", user));
	write_to("/proc/self/gid_map", text("0 %u 1", group));
	check(sethostname("lab", 3), "set", "the name of the host");
}

int main(int count, char **words)
{
	struct group groups[kGroups];
	const struct calls *calls;
	unsigned int out_mebibytes;
	int out, results, kept, has_disk;
	struct disk disk;
	pid_t first;

	if (count < 11 || (calls = calls_of(words[9])) == NULL) {
		errno = EINVAL;
		fail("enter", "FOLDER KERNEL SEED ROOT OUT_MEBIBYTES FILE_MEBIBYTES GROUP GROUP "
			      "CALLS ARGUMENTS...");
	}
	out_mebibytes = strtoul(words[5], NULL, 10);
	for (int i = 0; i < kGroups; i++)
		groups[i] = open_group(words[7 + i]);
	results = open(text("%s/out", words[1]), O_PATH | O_DIRECTORY | O_CLOEXEC);
	check(results, "open", "out");
	become_apart();
	out = make_root(words[1], words[2], words[4], out_mebibytes);
	has_disk = make_disk(&disk, out, out_mebibytes);
	limit_files(words[6]);
	first = fork();
	check(first, "fork", "");
	if (first == 0)
		watch(groups, words[3], calls, words + 10);
	close(kLifeLine);
	close(kExecuted);
	while (waitpid(first, NULL, 0) < 0 && errno == EINTR)
		;
	kept = has_disk ? bring_disk(&disk, results, out_mebibytes) :
			  bring_results(out, results, out_mebibytes);
	for (int i = 0; i < kGroups; i++)
		remove_group(&groups[i]);
	return kept ? 0 : kNotKept;
}
