/* SPDX-License-Identifier: Apache-2.0
 *
 * The root of a guest's kernel, which is a process of the machine: /guest, the files of the
 * guest; /lab, the sockets of the laboratory; /kernel with its C library; /tmp and /dev/null.
 * The root contains nothing else of the machine, no /proc and no other device. Only /tmp and
 * /guest/out can be written; they are file systems of their own with a limit. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "enter.h"
#include "folders.h"

enum { kFilesPerMebibyte = 512 };

static void write_text(const char *path, const char *value)
{
	int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	check(file, "open", path);
	check(write(file, value, strlen(value)), "write", path);
	close(file);
}

static void make_folder(const char *path)
{
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		fail("mkdir", path);
}

static void make_link(const char *to, const char *path)
{
	check(symlink(to, path), "symlink", path);
}

/* Bind-mounts a folder or file, or copies a link, from `from` to `to`. */
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
		make_link(target, to);
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
	struct mount_attr attributes = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
						     MOUNT_ATTR_NODEV };

	check(syscall(SYS_mount_setattr, AT_FDCWD, path, AT_RECURSIVE, &attributes,
		      sizeof attributes),
	      "mount read-only (Linux 5.12 or later)", path);
}

/* Shows the files of /etc that programs need; the rest of the machine's /etc stays hidden.
 * init.c adds the files of each host, which guest_etc.cpp makes. */
static void show_etc(const char *guest)
{
	static const char *const names[] = { "alternatives", "ld.so.cache", "ld.so.conf",
					     "ld.so.conf.d", "protocols", "services",
					     "ssl/certs", "ssl/openssl.cnf", /* not ssl/private */
					     "ethertypes", "iproute2" };
	char etc[PATH_MAX];

	strcpy(etc, text("%s/etc", guest));
	make_folder(etc);
	make_folder(text("%s/ssl", etc));
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		show(text("/etc/%s", names[i]), text("%s/%s", etc, names[i]));
	make_link("/proc/mounts", text("%s/mtab", etc));
	make_link("/usr/lib/os-release", text("%s/os-release", etc));
}

/* Makes /var as on a Debian system. */
static void make_var(const char *guest)
{
	make_link("/run", text("%s/var/run", guest));
	make_link("/run/lock", text("%s/var/lock", guest));
}

/* Shows the machine's programs and libraries. */
static void show_programs(const char *guest)
{
	for (size_t i = 0; i < sizeof kProgramFolders / sizeof *kProgramFolders; i++)
		show(text("/%s", kProgramFolders[i]), text("%s/%s", guest, kProgramFolders[i]));
}

/* Shows a file, and makes the folders above it. */
static void show_file(const char *path, const char *root)
{
	char real[PATH_MAX], to[PATH_MAX];

	if (realpath(path, real) == NULL)
		return;
	strcpy(to, text("%s%s", root, path));
	for (char *slash = to + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = 0;
		make_folder(to);
		*slash = '/';
	}
	show(real, to);
}

/* Shows the libraries of the kernel where its loader looks for them. */
static void show_library(const char *root)
{
	static const char *const places[] = { "/lib64/ld-linux-x86-64.so.2",
					      "/lib/x86_64-linux-gnu/libc.so.6",
					      "/lib64/libc.so.6" };

	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		show_file(places[i], root);
}

static int is_hidden(const char *name)
{
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 1;
	for (size_t i = 0; i < sizeof kHiddenFolders / sizeof *kHiddenFolders; i++)
		if (strcmp(name, kHiddenFolders[i]) == 0)
			return 1;
	return 0;
}

/* Shows all folders of a root of its own except those that the guest makes itself. */
static void show_root(const char *from, const char *guest)
{
	struct dirent *entry;
	DIR *folder = opendir(from);

	if (folder == NULL)
		fail("open", from);
	while ((entry = readdir(folder)) != NULL)
		if (!is_hidden(entry->d_name))
			show(text("%s/%s", from, entry->d_name),
			     text("%s/%s", guest, entry->d_name));
	closedir(folder);
}

static void make_guest(const char *folder, const char *guest_root, const char *guest)
{
	static const char *const empty[] = { "dev", "proc", "sys", "tmp", "run", "root", "mnt",
					     "home", "var", "srv", "lab", "out" };

	struct stat status;

	make_folder(guest);
	check(stat(guest_root, &status), "find", guest_root);
	if (strcmp(guest_root, "/") == 0) {
		show_programs(guest);
		show_etc(guest);
	} else if (S_ISREG(status.st_mode)) { /* a file system, which the guest mounts */
		show(guest_root, text("%s/image", guest));
		make_folder(text("%s/given", guest));
	} else {
		show_root(guest_root, guest);
	}
	for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
		make_folder(text("%s/%s", guest, empty[i]));
	if (strcmp(guest_root, "/") == 0)
		make_var(guest);
	show(text("%s/guest", folder), text("%s/lab", guest));
}

/* Mounts the writable file systems of the guest's kernel over read-only folders. Returns /out,
 * open. */
static int make_writable(const char *root, const char *guest, unsigned int out_mebibytes)
{
	int out;

	check(mount("tmpfs", text("%s/tmp", root), "tmpfs", MS_NODEV | MS_NOSUID | MS_NOEXEC,
		    "mode=700,size=1m,nr_inodes=64"),
	      "mount", "tmp");
	check(mount("tmpfs", text("%s/out", guest), "tmpfs", MS_NODEV | MS_NOSUID,
		    text("mode=1777,size=%um,nr_inodes=%u", out_mebibytes,
			 kFilesPerMebibyte * out_mebibytes)),
	      "mount", "out");
	out = open(text("%s/out", guest), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	check(out, "open", "out");
	return out;
}

int make_root(const char *folder, const char *kernel, const char *guest_root, unsigned int out_mebibytes)
{
	char root[PATH_MAX], guest[PATH_MAX];
	int out;

	strcpy(root, text("%s/root", folder));
	strcpy(guest, text("%s/root/guest", folder));
	check(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "mount", "/");
	check(mount("tmpfs", root, "tmpfs", MS_NOSUID, "mode=755"), "mount", root);
	make_guest(folder, guest_root, guest);
	show(text("%s/lab", folder), text("%s/lab", root));
	show(kernel, text("%s/kernel", root));
	show_library(root);
	make_folder(text("%s/dev", root));
	write_text(text("%s/dev/null", root), "");
	make_folder(text("%s/tmp", root));
	make_folder(text("%s/old", root));
	make_read_only(root);
	/* The only device. */
	check(mount("/dev/null", text("%s/dev/null", root), NULL, MS_BIND, NULL), "mount", "/dev/null");
	out = make_writable(root, guest, out_mebibytes);
	check(chdir(root), "chdir", root);
	check(syscall(SYS_pivot_root, ".", "old"), "pivot_root", root);
	check(umount2("/old", MNT_DETACH), "umount", "old");
	check(chdir("/"), "chdir", "/");
	return out;
}
