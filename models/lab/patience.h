// SPDX-License-Identifier: Apache-2.0
//
// How long a guest that is to run is waited for. It computes in no virtual time, so one that never
// waits again would hold the run for ever. What counts is the processor time that it has taken, not
// the machine's clock: on a machine with much else to do, a guest may get none for long, and is
// then no worse a guest.
//
// A guest of which nothing runs or is about to, and that does not answer either, has lost its way;
// that is told by the clock. So is, after ten times as long, one of which something runs but no
// time is seen: what its processes hide is no sign of life.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

namespace orrery::lab {

class Patience {
 public:
  /// Between two looks.
  static constexpr std::chrono::milliseconds kPeriod{1'000};

  /// `limit`: of processor time, or of periods without any sign of life.
  explicit Patience(std::chrono::milliseconds limit) : limit_(limit) {}

  /// The guest whose first process that is has been silent for a period more: why not to wait any
  /// longer, if so.
  std::optional<std::string> look(pid_t guest);
  /// It has spoken.
  void heard() { begun_ = false; }

 private:
  const std::chrono::milliseconds limit_;
  bool begun_ = false;
  std::chrono::milliseconds at_first_{}, at_last_{};  ///< processor time, when looked at
  std::chrono::milliseconds idle_{}, starved_{};
};

}  // namespace orrery::lab
