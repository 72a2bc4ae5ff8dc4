/* SPDX-License-Identifier: Apache-2.0
 *
 * The system calls that each kind of guest needs (confine.c), by the name that enter.c gets. Calls that
 * other arguments would make dangerous are limited to the arguments that the guest uses. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "enter.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- User Mode Linux and its processes */

static const unsigned int kUmlCalls[] = {
	/* memory */
	SYS_brk, SYS_madvise, SYS_memfd_create, SYS_mmap, SYS_mprotect, SYS_mremap, SYS_munmap,
	/* open files */
	SYS_close, SYS_dup, SYS_dup2, SYS_fdatasync, SYS_fstat, SYS_fsync, SYS_ftruncate,
	SYS_getdents64, SYS_lseek, SYS_pread64, SYS_pwrite64, SYS_read, SYS_readv, SYS_write,
	SYS_writev, SYS_fstatfs,
	/* files by their names, below folders of hostfs and for the kernel's start */
	SYS_access, SYS_faccessat, SYS_faccessat2, SYS_fchmodat, SYS_fchownat, SYS_linkat, SYS_lstat,
	SYS_mkdir, SYS_mkdirat, SYS_mknodat, SYS_newfstatat, SYS_open, SYS_openat, SYS_openat2,
	SYS_readlink, SYS_readlinkat, SYS_rename, SYS_renameat2, SYS_rmdir, SYS_stat, SYS_statfs,
	SYS_statx, SYS_symlinkat, SYS_unlink, SYS_unlinkat, SYS_utimensat,
	/* waiting */
	SYS_epoll_create, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_wait, SYS_epoll_pwait, SYS_eventfd2, SYS_poll,
	SYS_ppoll, SYS_pipe, SYS_pipe2,
	/* sockets of the laboratory */
	SYS_connect, SYS_recvfrom, SYS_recvmsg, SYS_sendmsg, SYS_sendto, SYS_shutdown,
	/* processes and signals */
	SYS_execve, SYS_exit, SYS_exit_group, SYS_fork, SYS_getpgid, SYS_getpgrp, SYS_getpid, SYS_getppid,
	SYS_gettid, SYS_kill, SYS_ptrace, SYS_restart_syscall, SYS_rt_sigaction, SYS_rt_sigprocmask,
	SYS_rt_sigreturn, SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_setpgid, SYS_setsid,
	SYS_sigaltstack, SYS_tgkill, SYS_wait4, SYS_waitid,
	/* threads and the C library */
	SYS_arch_prctl, SYS_futex, SYS_getegid, SYS_geteuid, SYS_getgid, SYS_getrandom, SYS_getrlimit,
	SYS_getuid, SYS_rseq, SYS_sched_yield, SYS_set_robust_list,
	SYS_set_tid_address, SYS_setrlimit, SYS_uname,
	/* time */
	SYS_clock_getres, SYS_clock_gettime, SYS_clock_nanosleep, SYS_nanosleep, SYS_setitimer,
	SYS_timer_create, SYS_timer_delete, SYS_timer_settime, SYS_timer_gettime,
};

/* No leases of files, which block other processes, and no notices of what other processes do with
 * files. */
static const struct limited_call kUmlLimited[] = {
	{ SYS_fcntl, 1, 10, { F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_SETOWN,
			      F_SETSIG, F_ADD_SEALS, F_GET_SEALS } },
	{ SYS_ioctl, 1, 1, { TCGETS } },
	{ SYS_prctl, 0, 3, { PR_SET_PDEATHSIG, PR_SET_TSC, PR_SET_NAME } },
	{ SYS_prlimit64, 0, 1, { 0 } }, /* its own limits */
	{ SYS_socket, 0, 1, { AF_UNIX } },
	{ SYS_socketpair, 0, 1, { AF_UNIX } },
};

/* ---- QEMU with orrery-clock: all that it opens, it opens at its start */

static const unsigned int kQemuCalls[] = {
	/* memory */
	SYS_brk, SYS_madvise, SYS_memfd_create, SYS_mmap, SYS_mprotect, SYS_mremap, SYS_munmap,
	/* open files */
	SYS_close, SYS_fstat, SYS_lseek, SYS_pread64, SYS_read, SYS_readv, SYS_write, SYS_writev,
	/* files by their names */
	SYS_access, SYS_faccessat, SYS_newfstatat, SYS_openat, SYS_readlink, SYS_stat,
	/* waiting */
	SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_epoll_wait, SYS_eventfd2, SYS_poll,
	SYS_ppoll, SYS_signalfd4,
	/* processes and signals */
	SYS_execve, SYS_exit, SYS_exit_group, SYS_getpid, SYS_gettid, SYS_restart_syscall,
	SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigtimedwait, SYS_sigaltstack,
	SYS_tgkill,
	/* threads and the C library */
	SYS_arch_prctl, SYS_futex, SYS_getegid, SYS_geteuid, SYS_getgid, SYS_getrandom, SYS_getuid,
	SYS_rseq, SYS_sched_yield, SYS_set_robust_list, SYS_set_tid_address, SYS_sysinfo, SYS_uname,
	/* time */
	SYS_clock_getres, SYS_clock_gettime, SYS_clock_nanosleep,
};

static const struct limited_call kQemuLimited[] = {
	{ SYS_fcntl, 1, 6, { F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL } },
	{ SYS_prctl, 0, 1, { PR_SET_NAME } },
	{ SYS_prlimit64, 0, 1, { 0 } }, /* its own limits */
};

static const struct calls kAll[] = {
	{ "uml", kUmlCalls, COUNT(kUmlCalls), kUmlLimited, COUNT(kUmlLimited), 0 },
	{ "qemu", kQemuCalls, COUNT(kQemuCalls), kQemuLimited, COUNT(kQemuLimited), CLONE_THREAD },
};

const struct calls *calls_of(const char *name)
{
	for (size_t i = 0; i < COUNT(kAll); i++)
		if (strcmp(kAll[i].name, name) == 0)
			return &kAll[i];
	return NULL;
}
