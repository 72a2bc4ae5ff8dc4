/* SPDX-License-Identifier: Apache-2.0
 *
 * The first process of a guest: makes a writable root file system, in the guest's memory, over the
 * root that the guest was given; runs the script /lab/host; and switches the guest off when the
 * script has ended. A program instead of a script, since each process of a script would make the
 * boot 16 ms longer.
 *
 *   init             in its environment, LAB_START_NS: wait before the script starts; on a whole
 *                    machine, LAB_FIRST_PROCESS: number from which on processes are numbered, and
 *                    LAB_DATE_NS: the date at the machine's start
 *   off              (the same program) switches the guest off
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <net/if.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "enter.h"

/* Whether this is a whole machine (../qemu), whose kernel has unpacked this program into its memory,
 * and finds the given root on a disk. Otherwise the given root is here. */
static int is_machine(void)
{
	return access("/lab/modules", F_OK) == 0;
}

static void switch_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	fail("reboot", "");
}

static void mount_at(const char *type, const char *at, const char *options)
{
	check(mount(type, at, type, 0, options), "mount", at);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Their names begin with numbers, in the order in which they need each other. */
static void load_modules(void)
{
	struct dirent **module;
	const int count = scandir("/lab/modules", &module, NULL, by_name);

	check(count, "open", "/lab/modules");
	for (int i = 0; i < count; i++) {
		const char *path = text("/lab/modules/%.99s", module[i]->d_name);
		const int file = open(path, O_RDONLY | O_CLOEXEC);

		if (module[i]->d_name[0] != '.')
			check(syscall(SYS_finit_module, file, "", 0), "load", path);
		close(file);
	}
}

/* Lines end as those of files do, not as those of terminals. */
static void write_lines_plainly(void)
{
	struct termios line;

	if (tcgetattr(1, &line) < 0)
		return;
	line.c_oflag &= ~OPOST;
	tcsetattr(1, TCSANOW, &line);
}

/* The machine has two disks, in any order: the given root, a squashfs, and /out. */
static const char *find_disk(int is_root)
{
	const char *path = "/dev/pmem0";
	const int first = open(path, O_RDONLY | O_CLOEXEC);
	char begin[4] = "";

	check(first, "open", path);
	check(read(first, begin, sizeof begin), "read", path);
	close(first);
	return (memcmp(begin, "hsqs", sizeof begin) == 0) == is_root ? path : "/dev/pmem1";
}

/* Makes a file a disk that cannot be written; returns the disk's path. */
static const char *make_disk_of(const char *file)
{
	const int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	struct loop_config config = { .info.lo_flags = LO_FLAGS_READ_ONLY | LO_FLAGS_AUTOCLEAR };
	const char *path;
	int disk;

	check(control, "open", "/dev/loop-control");
	path = text("/dev/loop%d", ioctl(control, LOOP_CTL_GET_FREE));
	disk = open(path, O_RDONLY | O_CLOEXEC); /* closed when this program ends */
	check(disk, "open", path);
	config.fd = open(file, O_RDONLY | O_CLOEXEC);
	check(config.fd, "open", file);
	check(ioctl(disk, LOOP_CONFIGURE, &config), "configure", path);
	close(config.fd);
	close(control);
	return path;
}

static const char *find_given_root(void)
{
	if (!is_machine()) {
		const char *disk;

		if (access("/image", F_OK) < 0)
			return "/";
		disk = make_disk_of("/image");
		check(mount(disk, "/given", "squashfs", MS_RDONLY, ""), "mount", "the given root");
		return "/given";
	}
	write_lines_plainly();
	load_modules();
	check(mount("devtmpfs", "/dev", "devtmpfs", 0, ""), "mount", "/dev");
	check(mount(find_disk(1), "/given", "squashfs", MS_RDONLY, ""), "mount", "the given root");
	return "/given";
}

static void write_number(const char *path, const char *number)
{
	const int file = open(path, O_WRONLY | O_CLOEXEC);

	check(file, "open", path);
	check(write(file, number, strlen(number)), "write", path);
	close(file);
}

/* What programs write is soon on the disk, since the machine may end at any time. */
static void mount_disk_for_results(void)
{
	check(mount(find_disk(0), "out", "ext2", 0, ""), "mount", "/out");
	check(chmod("out", 01777), "chmod", "/out");
	check(rmdir("out/lost+found"), "remove", "/out/lost+found");
	write_number("proc/sys/vm/dirty_expire_centisecs", "1");
	write_number("proc/sys/vm/dirty_writeback_centisecs", "1");
}

/* An overlay in memory over the given root, and the usual file systems in it. */
static void make_root_here(const char *given)
{
	static const char *const folders[] = { "proc", "sys", "dev", "tmp", "run", "lab", "out", "root",
					       "etc" };

	mount_at("tmpfs", "/mnt", "");
	check(mkdir("/mnt/upper", 0755), "mkdir", "/mnt/upper");
	check(mkdir("/mnt/work", 0755), "mkdir", "/mnt/work");
	check(mkdir("/mnt/root", 0755), "mkdir", "/mnt/root");
	mount_at("overlay", "/mnt/root",
		 text("lowerdir=%s,upperdir=/mnt/upper,workdir=/mnt/work", given));
	check(chdir("/mnt/root"), "chdir", "/mnt/root");
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		mkdir(folders[i], 0755);
	mount_at("proc", "proc", "");
	mount_at("sysfs", "sys", "");
	mount_at("cgroup2", "sys/fs/cgroup", "");
	mount_at("devtmpfs", "dev", "");
	mkdir("dev/pts", 0755);
	mkdir("dev/shm", 0755);
	mkdir("dev/mqueue", 0755);
	mount_at("devpts", "dev/pts", "ptmxmode=666");
	mount_at("tmpfs", "dev/shm", "mode=1777");
	mount_at("mqueue", "dev/mqueue", "");
	check(symlink("/proc/self/fd", "dev/fd"), "symlink", "/dev/fd");
	check(symlink("/proc/self/fd/0", "dev/stdin"), "symlink", "/dev/stdin");
	check(symlink("/proc/self/fd/1", "dev/stdout"), "symlink", "/dev/stdout");
	check(symlink("/proc/self/fd/2", "dev/stderr"), "symlink", "/dev/stderr");
	mount_at("tmpfs", "tmp", "mode=1777");
	mount_at("tmpfs", "run", "mode=755");
	check(mount("/lab", "lab", NULL, MS_BIND, NULL), "mount", "lab");
	if (is_machine())
		mount_disk_for_results();
	else
		mount_at("hostfs", "out", "/out");
}

/* Makes the new root that of all processes, not only of this one, as user namespaces need it. */
static void enter_root(void)
{
	if (is_machine()) { /* the first root of a kernel cannot be left by pivot_root */
		check(mount(".", "/", NULL, MS_MOVE, NULL), "mount", "/");
		check(chroot("."), "chroot", "");
		check(chdir("/"), "chdir", "/");
		return;
	}
	check(syscall(SYS_pivot_root, ".", "."), "pivot_root", "");
	check(umount2(".", MNT_DETACH), "umount", "the old root");
	check(chdir("/"), "chdir", "/");
}

static void copy(const char *from, const char *to)
{
	char part[4096];
	ssize_t bytes;
	const int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	check(in, "open", from);
	if (out < 0 && unlink(to) == 0) /* a link to a file that a daemon would make */
		out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	check(out, "open", to);
	while ((bytes = read(in, part, sizeof part)) > 0)
		if (write(out, part, bytes) != bytes)
			fail("write", to);
	check(bytes, "read", from);
	close(in);
	close(out);
}

/* Copies the content of a folder to another folder. */
static void copy_folder(const char *from, const char *to)
{
	DIR *const folder = opendir(from);
	struct dirent *entry;

	if (folder == NULL)
		fail("open", from);
	mkdir(to, 0755);
	while ((entry = readdir(folder)) != NULL) {
		char source[256], target[256];

		if (entry->d_name[0] == '.')
			continue;
		strcpy(source, text("%.99s/%.99s", from, entry->d_name));
		strcpy(target, text("%.99s/%.99s", to, entry->d_name));
		if (entry->d_type == DT_DIR)
			copy_folder(source, target);
		else
			copy(source, target);
	}
	closedir(folder);
}

/* Copies the files that the laboratory has made for /etc. */
static void fill_etc(void)
{
	copy_folder("/lab/etc", "/etc");
	copy("/lab/hostname", "/etc/hostname");
}

/* Makes the folders that daemons expect. A line for each folder: mode, owner, group and path. */
static void make_folders(void)
{
	FILE *const list = fopen("/lab/folders", "re");
	unsigned int mode, user, group;
	char path[128];

	if (list == NULL)
		fail("open", "/lab/folders");
	while (fscanf(list, "%o %u %u %127s", &mode, &user, &group, path) == 4) {
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			fail("mkdir", path);
		check(chown(path, user, group), "chown", path);
		check(chmod(path, mode), "chmod", path);
	}
	fclose(list);
}

static void take_name(void)
{
	char name[65] = "";
	FILE *const file = fopen("/etc/hostname", "re");

	if (file == NULL || fscanf(file, "%64s", name) != 1)
		fail("read", "/etc/hostname");
	fclose(file);
	check(sethostname(name, strlen(name)), "sethostname", name);
}

static void raise_loopback(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	check(any, "socket", "lo");
	check(ioctl(any, SIOCSIFFLAGS, &request), "raise", "lo");
	close(any);
}

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Hosts must not start their programs in the same microsecond. Reading a clock takes virtual
 * time. Sleeping would take a whole tick of 10 ms, since the kernel has no finer timers so
 * early. */
static void wait_for_start(void)
{
	const char *const word = getenv("LAB_START_NS");
	const long long start = now_ns() + (word == NULL ? 0 : atol(word));

	while (now_ns() < start)
		continue;
}

/* Nanoseconds since the machine's start, by a counter of its processor. */
static long long counted_ns(void)
{
	unsigned long long count, a_second = 1000000000;

#if defined(__aarch64__)
	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(a_second));
	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(count));
#elif defined(__riscv)
	a_second = 10000000; /* QEMU's machine virt */
	__asm__ volatile("rdtime %0" : "=r"(count));
#else
	count = __builtin_ia32_rdtsc();
#endif
	return (unsigned __int128)count * 1000000000 / a_second;
}

/* The kernel has the date from a clock of whole seconds, or from none. */
static void set_date(void)
{
	const char *const word = getenv("LAB_DATE_NS");
	const long long date = (word == NULL ? 0 : atoll(word)) + counted_ns();
	const struct timespec now = { .tv_sec = date / 1000000000, .tv_nsec = date % 1000000000 };

	check(clock_settime(CLOCK_REALTIME, &now), "set", "the date");
}

/* For which processor a program is: the field e_machine of the ELF specification; -1: it is none. */
static int processor_of(const char *path)
{
	unsigned char begin[20] = "";
	const int file = open(path, O_RDONLY | O_CLOEXEC);

	check(file, "open", path);
	check(read(file, begin, sizeof begin), "read", path);
	close(file);
	return memcmp(begin, "\177ELF", 4) == 0 ? begin[18] | begin[19] << 8 : -1;
}

/* A root that is a file may be for other hosts, of which nothing was known before. */
static void check_processor(void)
{
	const int is = processor_of("/bin/sh"), ours = processor_of("/lab/off");

	if (is < 0 || is == ours)
		return;
	printf("lab: the root is for another processor: its /bin/sh has the number %d in its ELF header, "
	       "and this host's have %d\n",
	       is, ours);
	exit(1);
}

static pid_t run_script(void)
{
	char *words[] = { "sh", "/lab/host", NULL };
	pid_t script;

	errno = posix_spawn(&script, "/bin/sh", NULL, NULL, words, environ);
	if (errno != 0)
		fail("execute", "/bin/sh");
	return script;
}

/* Sets the environment of programs. */
static void set_environment(void)
{
	clearenv();
	setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
	setenv("HOME", "/root", 1);
	setenv("USER", "root", 1);
	/* If the processor cannot be hidden (kernel/lab.c): at least OpenSSL does not use its random
	 * numbers. */
	setenv("OPENSSL_ia32cap", "~0x4000000000000000:~0x40000", 1);
}

int main(int count, char **words)
{
	pid_t script;

	(void)count;
	if (strcmp(basename(words[0]), "off") == 0)
		switch_off();
	make_root_here(find_given_root());
	enter_root();
	fill_etc();
	make_folders();
	take_name();
	raise_loopback();
	check_processor();
	wait_for_start();
	if (is_machine()) {
		set_date();
		write_number("/proc/sys/kernel/ns_last_pid", getenv("LAB_FIRST_PROCESS"));
	}
	set_environment();
	script = run_script();
	while (waitpid(-1, NULL, 0) != script)
		continue;
	switch_off();
}
