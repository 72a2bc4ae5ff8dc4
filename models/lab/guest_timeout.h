// SPDX-License-Identifier: Apache-2.0
//
// Decides how long to wait for a running guest. Its computations take no virtual time, so a guest
// that never waits again would block the run for ever. The limit is on the guest's processor time,
// not on the machine's clock: on a busy machine a correct guest may get no processor for a long
// time.
//
// The machine's clock limits two other cases. A guest that does not answer and has no process that
// runs or is ready is given up after the same time. A guest that seems to run but whose processor
// time does not grow is given up after ten times as long, as its processes may hide their time. So is
// a guest with a stopped process (kill -STOP), since a hostile guest can stop itself.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

namespace orrery::lab {

class GuestTimeout {
 public:
  /// Time between two calls of look().
  static constexpr std::chrono::milliseconds kPeriod{1'000};

  /// `limit`: processor time, or length of the periods without any activity.
  explicit GuestTimeout(std::chrono::milliseconds limit) : limit_(limit) {}

  /// To be called after each period in which the guest did not get on; `guest`: its first process.
  /// Returns the reason for which the guest should be given up, if there is one.
  std::optional<std::string> look(pid_t guest);
  /// Calls look() once a period. To be called now and then while the guest is waited for. Throws
  /// GuestGivenUp.
  void check(pid_t guest);
  /// The guest has waited for something, or some virtual time has passed in it.
  void got_on() {
    begun_ = false;
    looked_at_.reset();
  }

 private:
  const std::chrono::milliseconds limit_;
  bool begun_ = false;
  std::chrono::milliseconds at_first_{}, at_last_{};  ///< processor time at two calls of look()
  std::chrono::milliseconds idle_{}, starved_{};
  std::optional<std::chrono::steady_clock::time_point> looked_at_;  ///< by check(), since it got on
};

}  // namespace orrery::lab
