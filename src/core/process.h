// SPDX-License-Identifier: Apache-2.0
//
// Starts programs and waits for them: the runs of studies and comparisons, the ranks of a run, the
// check of a snapshot, and commands under orrery llf.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

namespace orrery {

struct ProcessStart {
  std::vector<std::string> words;  ///< the program's name and its arguments
  /// A path, or, unless `dies_with_this`, a name that is looked up in PATH. The default is this
  /// program. With `dies_with_this`, a program that cannot be executed ends with code 127.
  std::string program = "/proc/self/exe";
  /// Descriptors of this process and the numbers that the new process has them under. It has no
  /// others that are marked FD_CLOEXEC here.
  std::vector<std::pair<int, int>> descriptors = {};
  std::vector<int> default_signals = {};  ///< no longer ignored or caught
  const sigset_t* mask = nullptr;         ///< the blocked signals; nullptr: those of this thread
  std::vector<char*> environment = {};    ///< ends with nullptr; empty: that of this process
  pid_t group = -1;  ///< process group; 0: one of its own, -1: that of this process
  /// The system kills the new process when this process ends. There are two ways to start a process
  /// because posix_spawn cannot ask the system for this. fork can, but it copies the page tables of
  /// this process, so it is used for this purpose only.
  bool dies_with_this = false;
};

/// Throws std::system_error.
pid_t start_process(const ProcessStart& start);

/// Waits for the end; returns the status of waitpid, or SIGKILL if the system has none since
/// SIGCHLD is ignored.
int wait_for_process(pid_t process);

/// The exit code, or 128 + the signal that ended the process.
int exit_code_of(int status);
/// "was ended by signal 9 (Killed)", "ended with exit code 3".
std::string end_text(int status);

}  // namespace orrery
