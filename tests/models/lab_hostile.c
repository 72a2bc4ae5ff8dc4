/* SPDX-License-Identifier: Apache-2.0
 *
 * A hostile guest in the place of its kernel (lab_test.py compiles it): it calls the machine itself, as
 * whoever has got the better of a guest's kernel could, and says on its console what it has reached. A
 * line that begins with REACHED is a hole. PLANTED is a file of the machine that it is not to see, and
 * SOCKET the name of a socket of the machine's abstract ones that somebody listens at.
 *
 * With AS_QEMU it stands in the place of QEMU, which has a socket as descriptor 4 and starts no process.
 *
 * VARIANT says what it does then: 0 ends; others speak to the laboratory, each wrongly in its way.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef AS_QEMU
enum { kAsQemu = 1 };
#else
enum { kAsQemu = 0 };
#endif

static void reached(const char *what, const char *which, long number)
{
	dprintf(1, "REACHED %s %s %ld\n", what, which, number);
}

/* ---- Files of the machine */

static void try_file(int folder, const char *path)
{
	const int read_only = openat(folder, path, O_RDONLY | O_NONBLOCK);
	const int writable = openat(folder, path, O_WRONLY | O_NONBLOCK);

	if (read_only >= 0)
		reached("a file", path, folder);
	if (writable >= 0)
		reached("a file to write", path, folder);
}

static void try_planted(void)
{
	static const char *const before[] = { "", "/..", "/../..", "/proc/1/root", "/proc/self/root",
					      "/proc/1/cwd", "/proc/2/root", "/guest/..",
					      "/guest/lab/../..", "/guest/lab/../../../../../..", "/lab/..",
					      "/lab/../../../../../..", "/old" };
	static const char climb[] = "../../../../../../../../../..";
	char path[4096];

	for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
		snprintf(path, sizeof path, "%s%s", before[i], PLANTED);
		try_file(AT_FDCWD, path);
	}
	snprintf(path, sizeof path, "%s%s", climb, PLANTED);
	for (int folder = 0; folder < 1024; folder++) {
		struct stat status;

		try_file(folder, path);
		if (fchdir(folder) == 0)
			reached("a folder by a descriptor", "", folder);
		if (fstat(folder, &status) == 0 && folder > 2 && folder != 4)
			reached("a descriptor", "", folder);
		if (folder <= 2 || folder == 4)
			if (S_ISDIR(status.st_mode) || S_ISFIFO(status.st_mode) ||
			    S_ISSOCK(status.st_mode) != (kAsQemu && folder == 4))
				reached("more than a file", "", folder);
	}
	for (int first = 1; first < 64; first++)
		for (int number = 0; number < 32; number++) {
			snprintf(path, sizeof path, "/proc/%d/fd/%d/%s%s", first, number, climb, PLANTED);
			try_file(AT_FDCWD, path);
		}
}

static void try_tree(void)
{
	static const char *const absent[] = { "/proc/self", "/proc/version", "/sys/kernel", "/etc",
					      "/usr", "/home", "/root", "/var", "/result",
					      "/old/etc", "/dev/mem", "/dev/kmsg", "/dev/vda",
					      "/dev/zero", "/dev/urandom", "/dev/tty", "/dev/ptmx",
					      "/guest/etc/shadow", "/run" };
	static const char *const full[] = { "/", "/lab", "/guest", "/guest/lab", "/guest/usr",
					    "/guest/etc", "/dev", "/lib64" };
	struct stat status;
	char path[256];

	for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
		if (lstat(absent[i], &status) == 0)
			reached("what is not there", absent[i], 0);
	for (size_t i = 0; i < sizeof full / sizeof *full; i++) {
		snprintf(path, sizeof path, "%s/new", full[i]);
		if (openat(AT_FDCWD, path, O_WRONLY | O_CREAT, 0644) >= 0 ||
		    mkdirat(AT_FDCWD, path, 0755) == 0 || mknodat(AT_FDCWD, path, S_IFIFO, 0) == 0 ||
		    symlinkat("x", AT_FDCWD, path) == 0 || linkat(AT_FDCWD, "/kernel", AT_FDCWD, path, 0) == 0)
			reached("a place to write", path, 0);
		if (fchmodat(AT_FDCWD, full[i], 0777, 0) == 0 || unlinkat(AT_FDCWD, full[i], AT_REMOVEDIR) == 0)
			reached("a folder to change", full[i], 0);
	}
	if (openat(AT_FDCWD, "/kernel", O_WRONLY) >= 0)
		reached("a file to write", "/kernel", 0);
	if (mknodat(AT_FDCWD, "/guest/out/disk", S_IFBLK | 0666, 0xfe00) == 0 ||
	    mknodat(AT_FDCWD, "/tmp/disk", S_IFBLK | 0666, 0xfe00) == 0)
		reached("a device", "", 0);
}

/* A console that is a program with the rights of who started the laboratory. */
static void try_console(void)
{
	static const int files[] = { 1, 2, 4 };

	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		if (syscall(SYS_fchmod, files[i], 04755) == 0 || syscall(SYS_fchown, files[i], 0, 0) == 0 ||
		    syscall(452, files[i], "", 04755, AT_EMPTY_PATH) == 0 || /* fchmodat2 */
		    syscall(SYS_fsetxattr, files[i], "user.x", "x", 1, 0) == 0 ||
		    syscall(SYS_linkat, files[i], "", AT_FDCWD, "/tmp/console", AT_EMPTY_PATH) == 0)
			reached("the mode of a file", "", files[i]);
}

/* ---- Calls of the machine's kernel */

struct call {
	const char *name;
	long number, argument[6];
};

static void try_calls(void)
{
	static char buffer[4096];
	const long text = (long)buffer;
	const struct call calls[] = {
		{ "mount", SYS_mount, { (long)"none", (long)"/tmp", (long)"tmpfs" } },
		{ "umount", SYS_umount2, { (long)"/guest/out", 2 } },
		{ "pivot_root", SYS_pivot_root, { (long)"/tmp", (long)"/tmp" } },
		{ "chroot", SYS_chroot, { (long)"/tmp" } },
		{ "chdir", SYS_chdir, { (long)"/tmp" } },
		{ "unshare users", SYS_unshare, { CLONE_NEWUSER } },
		{ "unshare mounts", SYS_unshare, { CLONE_NEWNS } },
		{ "unshare time", SYS_unshare, { 0x80 } },
		{ "setns", SYS_setns, { 0 } },
		{ "clone users", SYS_clone, { CLONE_NEWUSER | SIGCHLD } },
		{ "clone network", SYS_clone, { CLONE_NEWNET | SIGCHLD } },
		{ "clone3", SYS_clone3, { text, 88 } },
		{ "bpf", SYS_bpf, { 0, text, 72 } },
		{ "perf_event_open", SYS_perf_event_open, { text, 0, -1, -1 } },
		{ "io_uring_setup", 425, { 8, text } },
		{ "keyctl", SYS_keyctl, { 0, -3, 1 } },
		{ "add_key", SYS_add_key, { (long)"user", (long)"x", (long)"x", 1, -3 } },
		{ "userfaultfd", SYS_userfaultfd, { 1 } },
		{ "init_module", SYS_init_module, { text, 10, text } },
		{ "kexec_load", SYS_kexec_load, { 0 } },
		{ "name_to_handle_at", SYS_name_to_handle_at, { AT_FDCWD, (long)"/", text, text + 64 } },
		{ "open_by_handle_at", SYS_open_by_handle_at, { 0, text } },
		{ "process_vm_readv", SYS_process_vm_readv, { 1, text, 1, text, 1 } },
		{ "pidfd_open", SYS_pidfd_open, { 1, 0 } },
		{ "pidfd_getfd", 438, { 0, 0 } },
		{ "pidfd_send_signal", SYS_pidfd_send_signal, { 0, 0 } },
		{ "kcmp", SYS_kcmp, { 1, 1 } },
		{ "ptrace", SYS_ptrace, { PTRACE_ATTACH, 1 } },
		{ "ptrace seize", SYS_ptrace, { PTRACE_SEIZE, 1 } },
		{ "fsopen", 430, { (long)"tmpfs" } },
		{ "open_tree", 428, { AT_FDCWD, (long)"/", 1 } },
		{ "move_mount", 429, { AT_FDCWD, (long)"/tmp", AT_FDCWD, (long)"/lab" } },
		{ "mount_setattr", 442, { AT_FDCWD, (long)"/", 0, text, 32 } },
		{ "quotactl", SYS_quotactl, { 0 } },
		{ "swapon", SYS_swapon, { (long)"/tmp/x" } },
		{ "reboot", SYS_reboot, { 0xfee1dead, 672274793, 0x89abcdef } },
		{ "sethostname", SYS_sethostname, { text, 1 } },
		{ "iopl", SYS_iopl, { 3 } },
		{ "ioperm", SYS_ioperm, { 0x80, 1, 1 } },
		{ "modify_ldt", SYS_modify_ldt, { 0, text, 16 } },
		{ "settimeofday", SYS_settimeofday, { text } },
		{ "clock_settime", SYS_clock_settime, { 0, text } },
		{ "adjtimex", SYS_adjtimex, { text } },
		{ "acct", SYS_acct, { (long)"/tmp/x" } },
		{ "syslog", SYS_syslog, { 3, text, 100 } },
		{ "sched_setscheduler", SYS_sched_setscheduler, { 0, 0, text } },
		{ "sched_setaffinity", SYS_sched_setaffinity, { 0, 8, text } },
		{ "setpriority", SYS_setpriority, { 0, 0, 0 } },
		{ "mq_open", SYS_mq_open, { (long)"x", O_CREAT | O_RDWR, 0600, 0 } },
		{ "shmget", SYS_shmget, { 1, 4096, 01600 } },
		{ "msgget", SYS_msgget, { 1, 01600 } },
		{ "semget", SYS_semget, { 1, 1, 01600 } },
		{ "fanotify_init", SYS_fanotify_init, { 0 } },
		{ "inotify_init1", SYS_inotify_init1, { 0 } },
		{ "memfd_secret", 447, { 0 } },
		{ "seccomp", SYS_seccomp, { 1, 0, text } },
		{ "personality", SYS_personality, { 0 } },
		{ "setuid", SYS_setuid, { 0 } },
		{ "setgroups", SYS_setgroups, { 0 } },
		{ "a lease", SYS_fcntl, { 1, F_SETLEASE, F_WRLCK } },
		{ "a notice", SYS_fcntl, { 0, F_NOTIFY, 1 } },
		{ "limits of others", SYS_prlimit64, { 1, 7, 0, text } },
		{ "prctl dumpable", SYS_prctl, { PR_SET_DUMPABLE, 1 } },
		{ "prctl capabilities", SYS_prctl, { PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL } },
		{ "terminal", SYS_ioctl, { 0, 0x5412, text } }, /* TIOCSTI */
		{ "x32", 0x40000000 | SYS_getpid, { 0 } },
	};

	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		const long *const a = calls[i].argument;
		const long result = syscall(calls[i].number, a[0], a[1], a[2], a[3], a[4], a[5]);

		if (result == 0 && calls[i].number == SYS_clone)
			_exit(0);
		if (result >= 0 || errno == EFAULT || errno == EINVAL)
			reached("the call", calls[i].name, result);
	}
}

/* A program of 32 bits has other numbers. */
static void try_32_bits(void)
{
	const pid_t child = fork();
	int status = 0;

	if (child == 0) {
		long number = 20; /* getpid */

		__asm__ volatile("int $0x80" : "+a"(number) : : "memory");
		_exit(0);
	}
	if (child < 0 && kAsQemu)
		return;
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFSIGNALED(status))
		reached("calls of 32 bits", "", status);
}

static void try_privileges(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct has[2] = { { 0 }, { 0 } };
	static char *const arguments[] = { "mount", NULL };

	if (syscall(SYS_capset, &header, has) == 0)
		reached("the call", "capset", 0);
	/* Of another file than its kernel it can execute none. */
	execve("/guest/usr/bin/mount", arguments, arguments + 1);
	if (errno != EACCES)
		dprintf(1, "no Landlock here\n");
}

static void try_sockets(void)
{
	static const int families[] = { AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_VSOCK, AF_ALG };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const int file = socket(AF_UNIX, SOCK_STREAM, 0);

	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		if (socket(families[i], SOCK_DGRAM, 0) >= 0 || socket(families[i], SOCK_STREAM, 0) >= 0 ||
		    socket(families[i], SOCK_RAW, 0) >= 0)
			reached("a socket", "of the family", families[i]);
	strcpy(address.sun_path + 1, SOCKET);
	if (file < 0)
		dprintf(1, "no sockets at all\n");
	if (connect(file, (void *)&address, offsetof(struct sockaddr_un, sun_path) + 1 + strlen(SOCKET)) == 0)
		reached("a socket", SOCKET, 0);
	close(file);
}

/* ---- The laboratory */

struct message {
	uint32_t operation, sequence;
	uint64_t time;
};

static int connected(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const int file = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(address.sun_path, path);
	if (connect(file, (void *)&address, sizeof address) < 0)
		dprintf(1, "cannot connect to %s: %s\n", path, strerror(errno));
	return file;
}

static void tell(int file, const void *data, size_t bytes, int with)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { (void *)data, bytes };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (with >= 0) {
		struct cmsghdr *header = (void *)control;

		message.msg_control = control;
		message.msg_controllen = sizeof control;
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(header), &with, sizeof with);
	}
	sendmsg(file, &message, MSG_NOSIGNAL);
}

/* Begins as a kernel does. Returns the page that it shares with the laboratory, as a file. */
static int start(int time)
{
	const struct message begin = { 1, 1, -1 };
	struct message answer;
	char control[CMSG_SPACE(2 * sizeof(int))];
	struct iovec part = { &answer, sizeof answer };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
				  .msg_controllen = sizeof control };
	int page = -1;

	tell(time, &begin, sizeof begin, -1);
	if (recvmsg(time, &message, 0) == sizeof answer && CMSG_FIRSTHDR(&message) != NULL)
		memcpy(&page, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof page);
	return page;
}

struct __attribute__((packed)) request {
	uint32_t request, flags, bytes;
	union {
		struct {
			uint32_t queue, value;
		};
		uint64_t features;
		struct __attribute__((packed)) {
			uint32_t regions, padding;
			uint64_t address, size, user_address, offset;
		};
		struct __attribute__((packed)) {
			uint32_t index, more;
			uint64_t descriptors, used, available, log;
		};
	};
};

enum { kShared = 1 << 20, kSending = 1, kEntries = 8 };

/* Asks a device, and waits until it has answered: it is looked after only while this guest runs. */
static void demand(int device, const struct request *request, int with)
{
	char answer[12 + 8];

	tell(device, request, 12 + request->bytes, with);
	(void)!recv(device, answer, sizeof answer, MSG_WAITALL);
}

static void ask(int device, uint32_t kind, uint32_t value)
{
	const struct request request = { kind, 1 | 8, 8, { { kSending, value } } };

	demand(device, &request, -1);
}

/* Memory that stays, shared with a device, and a queue at its beginning that offers a frame, which the
 * device is told of. `at_end`: the table of what is used ends where the memory does, and the index that
 * lies behind it comes into being afterwards. */
static int offer_a_frame(int device, int at_end)
{
	const int memory = memfd_create("memory", MFD_ALLOW_SEALING);
	unsigned char *own = mmap(NULL, kShared, PROT_READ | PROT_WRITE, MAP_SHARED,
				  (ftruncate(memory, kShared), memory), 0);
	const uint64_t used = at_end ? kShared - 4 - 8 * kEntries : 8192;
	const struct request share = { 5, 1 | 8, 40, { .regions = 1, .size = kShared } },
			     tables = { 9, 1 | 8, 40, { .index = kSending, .used = used, .available = 4096 } },
			     features = { 2, 1 | 8, 8, { .features = 1ull << 29 } };

	fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	for (int i = 0; i < kEntries; i++) {
		memcpy(own + 16 * i, &(uint64_t){ 16384 }, 8);
		memcpy(own + 16 * i + 8, &(uint32_t){ 100 }, 4);
	}
	demand(device, &share, memory);
	ask(device, 8, kEntries);
	demand(device, &tables, -1);
	demand(device, &features, -1);
	ask(device, 18, 1);
	own[4098] = 1;
	ask(device, 35, 0);
	return memory;
}

/* Shares memory with a network device and takes it away again. */
static void share_and_take_away(int time)
{
	const int device = connected("/lab/n0"), memory = memfd_create("memory", MFD_ALLOW_SEALING);
	const struct request share = { 5, 1, 40, { .regions = 1, .size = kShared } };

	(void)!ftruncate(memory, kShared);
	tell(device, &share, sizeof share, memory);
	(void)!ftruncate(memory, 0);
	(void)!read(time, &(struct message){ 0 }, sizeof(struct message));
}

/* It waits, and so gets the buffer of its frame back; but its queue is another by then. */
static void change_a_queue_that_sends(int time, int at_end)
{
	const int device = connected("/lab/n0"), memory = offer_a_frame(device, at_end);
	const struct request share = { 5, 1 | 8, 40, { .regions = 1, .size = 4096 } };
	const struct message wait = { 3, 2, 0 };
	struct message answer;

	demand(device, &share, memory);
	ask(device, 8, 1024);
	ask(device, 18, 1);
	tell(time, &wait, sizeof wait, -1);
	while (recv(time, &answer, sizeof answer, MSG_WAITALL) > 0)
		tell(time, &wait, sizeof wait, -1);
}

/* More frames than its queue has, none of which it has back. */
static void send_without_an_end(int time)
{
	const int device = connected("/lab/n0"), memory = offer_a_frame(device, 0);
	uint16_t *const index = (uint16_t *)((unsigned char *)mmap(NULL, kShared, PROT_READ | PROT_WRITE,
								    MAP_SHARED, memory, 0) + 4098);

	for (int i = 0; i < 1000; i++) {
		*index += kEntries;
		ask(device, 35, 0);
	}
	(void)!read(time, &(struct message){ 0 }, sizeof(struct message));
}

static void speak(int variant)
{
	const int time = connected("/lab/t"), page = start(time);

	if (page < 0 || fcntl(page, F_GETFD) < 0)
		dprintf(1, "no page came\n");
	if (ftruncate(page, 0) == 0 || ftruncate(page, 1 << 30) == 0)
		reached("the size of", "the page", page);
	dprintf(1, "variant %d begins\n", variant);
	if (variant == 1)
		share_and_take_away(time);
	for (uint32_t number = 2; variant == 2; number++) { /* questions without an end */
		const struct message get = { 4, number, 0 };
		struct message answer;

		tell(time, &get, sizeof get, -1);
		if (recv(time, &answer, sizeof answer, MSG_WAITALL) <= 0)
			break;
	}
	if (variant == 4 || variant == 5)
		change_a_queue_that_sends(time, variant == 5);
	if (variant == 6)
		send_without_an_end(time);
	if (variant == 3) { /* time runs backwards */
		const struct message forwards = { 5, 2, 1000 }, backwards = { 5, 3, 10 };

		tell(time, &forwards, sizeof forwards, -1);
		tell(time, &backwards, sizeof backwards, -1);
		pause();
	}
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	dprintf(1, "hostile begins\n");
	try_planted();
	try_tree();
	try_console();
	try_calls();
	try_32_bits();
	try_privileges();
	try_sockets();
	dprintf(1, "hostile has tried all\n");
	if (VARIANT > 0)
		speak(VARIANT);
	return 0;
}
