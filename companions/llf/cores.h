// SPDX-License-Identifier: Apache-2.0
//
// Computes how many federates can run at a time: the cores that they may use, limited by the quota
// of their control groups. Processes that a launcher has bound to one core each may use many cores
// together, so a group collects the cores of all its federates.
#pragma once

#include <sched.h>

#include <cstdint>

namespace orrery::llf {

class Cores {
 public:
  static constexpr unsigned kMost = 4096;

  /// Adds the cores that the calling thread may use.
  void add_mine();
  void add(const Cores& others);
  unsigned count() const;

 private:
  std::uint64_t words_[kMost / 64];
};

/// Whole processors that the control groups of the calling process allow, at least 1; Cores::kMost
/// if they set no limit.
unsigned cores_of_control_groups();

/// The same from the text of /proc/self/cgroup and the folder of control groups, for tests.
unsigned cores_of_control_groups(const char* membership, const char* folder);

}  // namespace orrery::llf
