// SPDX-License-Identifier: Apache-2.0
#include "director/guardian.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

namespace orrery::director {
namespace {

/// Closes all other descriptors of the director, such as its output, for whose end others wait.
void keep_only(int life) {
  const int nowhere = open("/dev/null", O_RDWR);
  for (int stream = 0; stream < 3; ++stream) dup2(nowhere, stream);
  dup2(life, 3);
  syscall(SYS_close_range, 4U, ~0U, 0);
}

void ignore_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE})
    std::signal(signal, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// Twice, since a last change of the director may come in between.
void give_everything_back(const Roll& roll) {
  for (int turn = 0; turn < 2; ++turn) {
    roll.give_all_back();
    roll.give_back_to_children();
  }
}

[[noreturn]] void guard(Roll& roll, int life, int still_ms) {
  setsid();
  prctl(PR_SET_NAME, "orrery-guardian");
  ignore_signals();
  keep_only(life);
  mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);  // useful, but not necessary
  set_scheduling(0, scheduling_of(Level::guardian));
  std::uint64_t seen = 0;
  bool is_rescued = false;
  for (;;) {
    pollfd end{.fd = 3, .events = POLLIN, .revents = 0};
    const int found = poll(&end, 1, still_ms);
    if (found > 0) break;
    const std::uint64_t beats = roll.heartbeat().load();
    const bool is_still = found == 0 && beats == seen;
    if (is_still && !is_rescued) {
      roll.give_all_back();
      roll.rescues().fetch_add(1);
    }
    is_rescued = is_still;
    seen = beats;
  }
  give_everything_back(roll);
  _exit(0);
}

}  // namespace

Guardian::Guardian(Roll& roll, int still_ms) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  const Descriptor guardians(ends[0]);
  life_ = Descriptor(ends[1]);
  process_ = fork();
  if (process_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (process_ == 0) guard(roll, ends[0], still_ms);
}

Guardian::~Guardian() {
  life_ = Descriptor();
  if (process_ > 0) waitpid(process_, nullptr, 0);
}

bool Guardian::is_alive() {
  if (process_ > 0 && waitpid(process_, nullptr, WNOHANG) != 0) process_ = -1;
  return process_ > 0;
}

}  // namespace orrery::director
