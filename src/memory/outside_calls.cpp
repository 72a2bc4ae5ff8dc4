// SPDX-License-Identifier: Apache-2.0
//
// The record of a thread's calls to the outside, and their names.
#include "memory/outside_calls.h"

namespace orrery::memory {

constinit thread_local OutsideCalls outside_calls;

const char* name_of(OutsideCall call) noexcept {
  switch (call) {
    case OutsideCall::time:
      return "time";
    case OutsideCall::gettimeofday:
      return "gettimeofday";
    case OutsideCall::clock_gettime:
      return "clock_gettime (the clocks of std::chrono)";
    case OutsideCall::timespec_get:
      return "timespec_get";
    case OutsideCall::clock:
      return "clock";
    case OutsideCall::rand:
      return "rand";
    case OutsideCall::random:
      return "random";
    case OutsideCall::drand48:
      return "drand48";
    case OutsideCall::lrand48:
      return "lrand48";
    case OutsideCall::mrand48:
      return "mrand48";
    case OutsideCall::getrandom:
      return "getrandom";
    case OutsideCall::getentropy:
      return "getentropy";
    case OutsideCall::arc4random:
      return "arc4random";
    case OutsideCall::random_device:
      return "std::random_device";
    case OutsideCall::count:
      break;
  }
  return "unknown";
}

}  // namespace orrery::memory
