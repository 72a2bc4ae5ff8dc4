// SPDX-License-Identifier: Apache-2.0
/*
 * (Or GPL-2.0-only, as part of a kernel.)
 *
 * Waits for a traced process, and passes over signals by which somebody outside stops and continues
 * processes (Ctrl-Z, kill -STOP, kill -CONT). Each of them stops a traced process once more (ptrace(2),
 * signal-delivery-stop), which says nothing about the program in it. The process goes on from where
 * it was, so the host notices nothing.
 */
#ifndef LAB_WAIT_H
#define LAB_WAIT_H

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static inline int lab_is_stopped_from_outside(int status) {
  if (!WIFSTOPPED(status)) return 0;
  switch (WSTOPSIG(status)) {
    case SIGCONT:
    case SIGSTOP:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
      return 1;
  }
  return 0;
}

static inline int lab_wait_once(int pid, int* status) {
  int result;

  do {
    result = waitpid(pid, status, WUNTRACED | __WALL);
  } while (result < 0 && errno == EINTR);
  return result;
}

/* As waitpid(). `request` is that of ptrace() which made the process run. */
static inline int lab_wait(int pid, int* status, int request) {
  for (;;) {
    int result = lab_wait_once(pid, status);

    if (result < 0 || !lab_is_stopped_from_outside(*status)) return result;
    if (ptrace(request, pid, 0, 0) < 0 && errno != ESRCH) return -1;
  }
}

/*
 * As waitpid(), for a new process that asks to be traced and then stops itself: the sender of that
 * SIGSTOP is the process. One that is stopped before it is traced has no signal to ask about, and
 * goes on when it is continued.
 */
static inline int lab_wait_for_start(int pid, int* status) {
  for (;;) {
    int result = lab_wait_once(pid, status);
    siginfo_t info;

    if (result < 0 || !lab_is_stopped_from_outside(*status)) return result;
    if (ptrace(PTRACE_GETSIGINFO, pid, 0, &info) < 0) continue;
    if (info.si_signo == SIGSTOP && info.si_pid == pid) return result;
    if (ptrace(PTRACE_CONT, pid, 0, 0) < 0 && errno != ESRCH) return -1;
  }
}

#endif
