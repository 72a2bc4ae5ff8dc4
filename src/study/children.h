// SPDX-License-Identifier: Apache-2.0
//
// Runs as processes, a limited number at once.
//
// Each run is a process, so that it has the machine's memory, and a crash of one run does not end
// the others. Each process is the leader of a process group: Ctrl-C reaches only the study, which
// decides what to do. Each process is killed when the study ends, in whatever way, so that no run
// of a killed study still writes into its folder.
//
// There are no threads and no signal handlers here: signals are blocked and taken one by one with
// sigtimedwait.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace orrery::study {

/// How a process ended.
struct Ended {
  std::size_t tag = 0;
  int code = 0;          ///< exit code, or 128 + the signal that ended it
  std::string sentence;  ///< its message on standard error, or the name of the signal
};

class Children {
 public:
  Children();
  /// Kills the processes that still run, and waits for them.
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  /// Starts this program again with `words` behind its name; its standard output is dropped. Throws
  /// SystemFailure.
  void start(std::size_t tag, const std::vector<std::string>& words);
  std::size_t running() const { return children_.size(); }

  /// Waits until a process ends, a signal to this process comes, or the time is over.
  std::optional<Ended> wait(int milliseconds);
  /// SIGINT or SIGTERM, if one came since the last call; else 0.
  int take_signal();
  /// Sends a signal to all running processes.
  void signal_all(int number) const;

 private:
  struct Child {
    pid_t process;
    std::size_t tag;
    int errors;  ///< an unnamed file with its standard error
  };

  std::optional<Ended> collect();

  std::vector<Child> children_;
  sigset_t taken_, before_;
  int signal_ = 0;
};

}  // namespace orrery::study
