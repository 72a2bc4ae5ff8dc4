// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace orrery::lab {

/// What a guest did that none of ours does: "its queue 0 has a chain without end". Guests are not
/// trusted, so this is an end of the guest, never of the simulator.
class GuestError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// It was given up by the machine's time: in another run of the same it may not be.
class GuestGivenUp : public GuestError {
 public:
  using GuestError::GuestError;
};

/// It has closed its connection: it has ended, or was killed.
class GuestGone : public GuestError {
 public:
  GuestGone() : GuestError("it has gone") {}
};

}  // namespace orrery::lab
