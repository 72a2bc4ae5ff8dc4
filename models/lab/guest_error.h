// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace orrery::lab {

/// An action of a guest that no correct guest does, such as "its queue 0 has a chain without end".
/// Guests are not trusted, so such an error ends the guest, never the simulator.
class GuestError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A guest was given up by the machine's time. In another run this may not happen.
class GuestGivenUp : public GuestError {
 public:
  using GuestError::GuestError;
};

/// The guest has closed its connection: it has ended or was killed.
class GuestGone : public GuestError {
 public:
  GuestGone() : GuestError("it has gone") {}
};

}  // namespace orrery::lab
