// SPDX-License-Identifier: Apache-2.0
//
// Finds the threads to direct, and the helpers of their processes. Threads come and go, and get
// their names a moment after their begin, so an ordinary thread scans again and again: reading
// directories takes longer than a tick.
#pragma once

#include <sched.h>

#include <map>
#include <string>
#include <vector>

#include "director/scheduling.h"
#include "director/thread.h"

namespace orrery::director {

struct Selection {
  std::vector<pid_t> processes;
  std::string group;    ///< folder of a control group; empty: none
  std::string pattern;  ///< of thread names, as in a shell; empty: virtual processors, or all
};

/// A thread that is new, or has another role than before.
struct Found {
  Thread thread;
  std::string process_name;
  bool is_helper = false;
  Scheduling scheduling;
  cpu_set_t cores;
};

class Scanner {
 public:
  explicit Scanner(Selection selection) : selection_(std::move(selection)) {}

  std::vector<Found> scan();
  /// The processes that the last `scan` has found.
  const std::vector<pid_t>& processes() const { return processes_; }

 private:
  struct Known {
    std::uint64_t born = 0;
    bool is_helper = false;
  };
  std::vector<pid_t> wanted_processes() const;
  void scan_process(pid_t process, std::map<pid_t, Known>& seen, std::vector<Found>& found);

  Selection selection_;
  std::vector<pid_t> processes_;
  std::map<pid_t, Known> known_;  // by thread number
};

/// Whether QEMU gives this name to the thread of a virtual processor ("CPU 0/KVM", "CPU 3/TCG",
/// "ALL CPUs/TCG"), which it does when started with -name ...,debug-threads=on.
bool is_virtual_processor(const std::string& name);

}  // namespace orrery::director
