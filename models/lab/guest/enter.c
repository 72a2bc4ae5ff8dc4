/* SPDX-License-Identifier: Apache-2.0
 *
 * The first process of a guest (models/lab/guest.cpp starts it): goes into namespaces of its own, of
 * users, mounts, network, processes; makes a root that holds what the guest may see, read-only; and
 * starts the guest's kernel there. When the pipe at file 3 ends, so does all that is in the namespaces.
 *
 *   enter FOLDER KERNEL SEED ROOT OUT_MEBIBYTES FILE_MEBIBYTES GROUP GROUP ARGUMENTS...
 *
 * No file of the guest's processes is larger than FILE_MEBIBYTES. They are in those control groups
 * (models/lab/control_groups.h; "-": in none), which are removed at the end.
 *
 * FOLDER/lab holds the sockets, which the kernel sees as /lab; the guest's own root is /guest there,
 * made of ROOT's folders (but /etc of the machine only as far as programs need it), with FOLDER/guest
 * as /lab and, as /out, a place whose files are copied to FOLDER/out at the end.
 *
 * A program and not a script, since 128 guests start at once.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kLifeLine = 3, kGroups = 2 };

static _Noreturn void fail(const char *what, const char *which)
{
	dprintf(2, "lab: %s %s: %s\n", what, which, strerror(errno));
	exit(1);
}

static void check(int result, const char *what, const char *which)
{
	if (result < 0)
		fail(what, which);
}

/* Text in a buffer that is used again after a few calls: for arguments only. */
static const char *text(const char *format, ...)
{
	static char buffers[4][PATH_MAX];
	static unsigned int next;
	char *buffer = buffers[next++ % 4];
	va_list arguments;

	va_start(arguments, format);
	if (vsnprintf(buffer, PATH_MAX, format, arguments) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		fail("path", format);
	}
	va_end(arguments);
	return buffer;
}

static void write_text(const char *path, const char *value)
{
	int file = open(path, O_WRONLY | O_CREAT, 0644);

	check(file, "open", path);
	check(write(file, value, strlen(value)), "write", path);
	close(file);
}

static void make_folder(const char *path)
{
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		fail("mkdir", path);
}

/* What lies at `from` is at `to`, too: a folder, a file, or a link. */
static void show(const char *from, const char *to)
{
	struct stat status;
	char target[PATH_MAX];

	if (lstat(from, &status) < 0)
		return;
	if (S_ISLNK(status.st_mode)) {
		ssize_t length = readlink(from, target, sizeof target - 1);

		check(length, "readlink", from);
		target[length] = 0;
		check(symlink(target, to), "symlink", to);
		return;
	}
	if (S_ISDIR(status.st_mode))
		make_folder(to);
	else
		write_text(to, "");
	check(mount(from, to, NULL, MS_BIND | MS_REC, NULL), "mount", from);
}

static void make_read_only(const char *path)
{
	struct mount_attr attributes = { .attr_set = MOUNT_ATTR_RDONLY };

	check(syscall(SYS_mount_setattr, AT_FDCWD, path, AT_RECURSIVE, &attributes,
		      sizeof attributes),
	      "mount read-only (Linux 5.12 or later)", path);
}

/* What programs look up; the rest of the machine's /etc is nobody's business. */
static void show_etc(const char *guest)
{
	static const char *const names[] = { "alternatives", "ld.so.cache", "ld.so.conf",
					     "ld.so.conf.d", "nsswitch.conf", "protocols",
					     "services", "ssl", "ethertypes", "iproute2" };
	char etc[PATH_MAX];

	strcpy(etc, text("%s/etc", guest));
	make_folder(etc);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		show(text("/etc/%s", names[i]), text("%s/%s", etc, names[i]));
	write_text(text("%s/passwd", etc),
		   "root:x:0:0:root:/root:/bin/sh\n"
		   "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
	write_text(text("%s/group", etc), "root:x:0:\nnogroup:x:65534:\n");
	write_text(text("%s/hosts", etc), "127.0.0.1 localhost\n");
}

/* The machine's programs and libraries. */
static void show_programs(const char *root)
{
	static const char *const names[] = { "usr", "bin", "sbin", "lib", "lib32", "lib64",
					     "libx32" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		show(text("/%s", names[i]), text("%s/%s", root, names[i]));
}

/* All folders of a root of its own but those that the guest makes itself. */
static void show_root(const char *from, const char *guest)
{
	static const char own[] = " . .. dev proc sys tmp run mnt lab out ";
	struct dirent *entry;
	DIR *folder = opendir(from);

	if (folder == NULL)
		fail("open", from);
	while ((entry = readdir(folder)) != NULL)
		if (strstr(own, text(" %s ", entry->d_name)) == NULL)
			show(text("%s/%s", from, entry->d_name),
			     text("%s/%s", guest, entry->d_name));
	closedir(folder);
}

static void make_root(const char *folder, const char *kernel, const char *guest_root,
		      const char *out_mebibytes)
{
	static const char *const empty[] = { "dev", "proc", "sys", "tmp", "run", "root", "mnt",
					     "home", "var", "srv", "lab", "out" };
	static const char *const devices[] = { "null", "zero", "random", "urandom" };
	char root[PATH_MAX], guest[PATH_MAX];

	strcpy(root, text("%s/root", folder));
	strcpy(guest, text("%s/root/guest", folder));
	check(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "mount", "/");
	check(mount("tmpfs", root, "tmpfs", 0, "mode=755"), "mount", root);
	make_folder(guest);
	show_programs(root); /* the kernel needs libraries, too */
	if (strcmp(guest_root, "/") == 0) {
		show_programs(guest);
		show_etc(guest);
	} else {
		show_root(guest_root, guest);
	}
	for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
		make_folder(text("%s/%s", guest, empty[i]));
	show(text("%s/guest", folder), text("%s/lab", guest));
	show(text("%s/lab", folder), text("%s/lab", root));
	show(kernel, text("%s/kernel", root));
	make_folder(text("%s/dev", root));
	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
		show(text("/dev/%s", devices[i]), text("%s/dev/%s", root, devices[i]));
	make_folder(text("%s/proc", root));
	make_folder(text("%s/tmp", root));
	make_folder(text("%s/old", root));
	make_folder(text("%s/result", root));
	check(mount("proc", text("%s/proc", root), "proc", 0, NULL), "mount", "proc");
	make_read_only(root);
	check(mount(text("%s/out", folder), text("%s/result", root), NULL, MS_BIND, NULL), "mount",
	      "out");
	check(mount("tmpfs", text("%s/tmp", root), "tmpfs", 0, "mode=1777"), "mount", "tmp");
	check(mount("tmpfs", text("%s/out", guest), "tmpfs", MS_NODEV | MS_NOSUID,
		    text("mode=1777,size=%sm", out_mebibytes)),
	      "mount", "out");
	check(chdir(root), "chdir", root);
	check(syscall(SYS_pivot_root, ".", "old"), "pivot_root", root);
	check(umount2("/old", MNT_DETACH), "umount", "old");
}

/* The regular files below one folder, to another; a guest made them, so nothing is followed. */
static void copy_files(int from, int to)
{
	struct dirent *entry;
	DIR *folder = fdopendir(from);

	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		const char *name = entry->d_name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			continue;
		if (entry->d_type == DT_DIR) {
			int below = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

			mkdirat(to, name, 0755);
			copy_files(below, openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
		} else if (entry->d_type == DT_REG) {
			int in = openat(from, name, O_RDONLY | O_NOFOLLOW);
			int out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644);

			while (copy_file_range(in, NULL, out, NULL, SSIZE_MAX, 0) > 0)
				;
			if (in >= 0 && out >= 0 && lseek(out, 0, SEEK_CUR) == 0) {
				char part[65536];
				ssize_t bytes;

				while ((bytes = read(in, part, sizeof part)) > 0 &&
				       write(out, part, bytes) == bytes)
					;
			}
			close(in);
			close(out);
		}
	}
	if (folder != NULL)
		closedir(folder);
	close(to);
}

/* No dump of a guest's memory lands on the machine, and no console grows without end. */
static void limit_files(const char *mebibytes)
{
	const rlim_t most = strtoull(mebibytes, NULL, 10) << 20;
	const struct rlimit no_core = { 0, 0 }, file = { most, most };

	check(setrlimit(RLIMIT_CORE, &no_core), "limit", "core");
	check(setrlimit(RLIMIT_FSIZE, &file), "limit", "file size");
}

/* A control group: where it lies, and its file for who goes into it; -1: none. */
struct group {
	const char *name;
	int parent, members;
};

/* While its path is there: it is not in the root that comes. */
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

/* Nobody is in it any more, which its kernel may need a moment to see. */
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

static pid_t start_kernel(const char *seed, char **arguments)
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
	execv("/kernel", arguments);
	fail("exec", "/kernel");
}

/* The first process of the namespaces: when it ends, all in them do. */
static void run(pid_t kernel)
{
	struct pollfd watched[] = { { .fd = kLifeLine, .events = POLLIN },
				    { .fd = syscall(SYS_pidfd_open, kernel, 0), .events = POLLIN } };

	while (poll(watched, 2, -1) < 0 && errno == EINTR)
		;
	kill(kernel, SIGKILL);
	waitpid(kernel, NULL, 0);
	copy_files(open("/guest/out", O_RDONLY | O_DIRECTORY),
		   open("/result", O_RDONLY | O_DIRECTORY));
}

int main(int count, char **words)
{
	const unsigned int user = geteuid(), group = getegid();
	struct group groups[kGroups];
	int status;
	pid_t inside;

	if (count < 10) {
		errno = EINVAL;
		fail("enter", "FOLDER KERNEL SEED ROOT OUT_MEBIBYTES FILE_MEBIBYTES GROUP GROUP "
			      "ARGUMENTS...");
	}
	limit_files(words[6]);
	for (int i = 0; i < kGroups; i++)
		groups[i] = open_group(words[7 + i]);
	check(unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
		      CLONE_NEWPID),
	      "unshare", "(namespaces of users must be allowed: sysctl kernel.unprivileged_userns_clone)");
	write_text("/proc/self/setgroups", "deny");
	write_text("/proc/self/uid_map", text("0 %u 1", user));
	write_text("/proc/self/gid_map", text("0 %u 1", group));
	inside = fork();
	check(inside, "fork", "");
	if (inside == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0; i < kGroups; i++)
			go_into(&groups[i]);
		make_root(words[1], words[2], words[4], words[5]);
		run(start_kernel(words[3], words + 9));
		return 0;
	}
	close(kLifeLine);
	while (waitpid(inside, &status, 0) < 0 && errno == EINTR)
		;
	for (int i = 0; i < kGroups; i++)
		remove_group(&groups[i]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
