// SPDX-License-Identifier: Apache-2.0
#include "core/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

extern char** environ;

namespace orrery {
namespace {

constexpr int kExitSignal = 128, kExitNoProgram = 127;

pid_t spawn(const ProcessStart& start, char* const* words, char* const* environment) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const auto& [from, to] : start.descriptors)
    posix_spawn_file_actions_adddup2(&actions, from, to);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int number : start.default_signals) sigaddset(&defaults, number);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  if (start.mask != nullptr) posix_spawnattr_setsigmask(&attributes, start.mask);
  if (start.group >= 0) posix_spawnattr_setpgroup(&attributes, start.group);
  posix_spawnattr_setflags(&attributes,
                           static_cast<short>(POSIX_SPAWN_SETSIGDEF |
                                              (start.mask != nullptr ? POSIX_SPAWN_SETSIGMASK : 0) |
                                              (start.group >= 0 ? POSIX_SPAWN_SETPGROUP : 0)));
  pid_t process = -1;
  const int error =
      posix_spawnp(&process, start.program.c_str(), &actions, &attributes, words, environment);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  errno = error;
  return error == 0 ? process : -1;
}

/// Runs in the new process after fork(), where only system calls are allowed.
[[noreturn]] void become(const ProcessStart& start, pid_t parent, char* const* words,
                         char* const* environment) {
  if (start.group >= 0) setpgid(0, start.group);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kExitNoProgram);  // the parent died before the prctl
  for (const auto& [from, to] : start.descriptors)
    if (from == to)
      fcntl(from, F_SETFD, 0);
    else
      dup2(from, to);
  for (const int number : start.default_signals) std::signal(number, SIG_DFL);
  if (start.mask != nullptr) sigprocmask(SIG_SETMASK, start.mask, nullptr);
  execve(start.program.c_str(), words, environment);
  _exit(kExitNoProgram);
}

}  // namespace

pid_t start_process(const ProcessStart& start) {
  std::vector<char*> words;
  for (const std::string& word : start.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  for (const auto& [from, to] : start.descriptors)
    if (from < 0) throw std::system_error(EBADF, std::generic_category(), start.program);
  char* const* environment = start.environment.empty() ? environ : start.environment.data();
  pid_t process = -1;
  if (start.dies_with_this) {
    const pid_t self = getpid();
    process = fork();
    if (process == 0) become(start, self, words.data(), environment);
  } else {
    process = spawn(start, words.data(), environment);
  }
  if (process < 0) throw std::system_error(errno, std::generic_category(), start.program);
  return process;
}

int wait_for_process(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0)
    if (errno != EINTR) return SIGKILL;  // SIGCHLD is ignored: nobody knows how the process ended
  return status;
}

int exit_code_of(int status) {
  return WIFSIGNALED(status) ? kExitSignal + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string end_text(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("was ended by signal {} ({})", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
  return fmt::format("ended with exit code {}", WEXITSTATUS(status));
}

}  // namespace orrery
