// SPDX-License-Identifier: Apache-2.0
//
// Runs as processes, a bounded number at once.
//
// A run is a process so that it has the machine's memory and its own end: one that crashes or is
// killed takes no other with it. Each is the leader of a process group, so that Ctrl-C reaches the
// study alone, which then decides; and each dies with the study, however that ends, so that a study
// that was killed leaves nothing behind that would write into its folder.
//
// There are no threads here: signals are blocked and taken one by one (sigtimedwait), so nothing
// happens between two lines.
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
  int code = 0;          ///< of its exit, 128 + the signal that ended it
  std::string sentence;  ///< what it said on standard error, or which signal ended it
};

class Children {
 public:
  Children();
  /// Kills those that still run, and waits for their ends.
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  /// Starts this program again with these words behind its name; what it writes to standard output
  /// is dropped. Throws SystemFailure.
  void start(std::size_t tag, const std::vector<std::string>& words);
  std::size_t running() const { return children_.size(); }

  /// Waits for one of them, for a signal to this process, or so long.
  std::optional<Ended> wait(int milliseconds);
  /// SIGINT or SIGTERM, if one came since the last call; else 0.
  int take_signal();
  /// Sends a signal to all.
  void signal_all(int number) const;

 private:
  struct Child {
    pid_t process;
    std::size_t tag;
    int errors;  ///< a file without name that has its standard error
  };

  std::optional<Ended> collect();

  std::vector<Child> children_;
  sigset_t taken_, before_;
  int signal_ = 0;
};

}  // namespace orrery::study
