// SPDX-License-Identifier: Apache-2.0
//
// How many federates can run at a time: the cores that they may use, less what a control group
// takes away. Processes that a launcher has bound to a core each may use one, but together many, so
// a group collects the cores of all.
#pragma once

#include <sched.h>

#include <cstdint>

namespace orrery::llf {

class Cores {
 public:
  static constexpr unsigned kMost = 4096;

  /// Those that the calling thread may use.
  void add_mine();
  unsigned count() const;

 private:
  std::uint64_t words_[kMost / 64];
};

/// Whole processors that the calling process' control groups let it use, at least 1; more than
/// there are if they set no limit.
unsigned cores_of_control_groups();

/// The same, with the text of /proc/self/cgroup and the folder where control groups are, for tests.
unsigned cores_of_control_groups(const char* membership, const char* folder);

}  // namespace orrery::llf
