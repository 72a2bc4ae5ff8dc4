// SPDX-License-Identifier: Apache-2.0
//
// Which sources outside an LP a handler has asked: the clocks and random devices of the system. The
// interposed functions (interpose_outside.cpp) note their own names here when they are called in
// application mode by a thread that watches; an engine that looks for a handler's dependence on
// them can then name the culprit, and can move the clocks so that it shows.
//
// Thread-local like the mode itself, because time() knows no engine.
#ifndef ORRERY_MEMORY_OUTSIDE_CALLS_H
#define ORRERY_MEMORY_OUTSIDE_CALLS_H

#include <cstdint>

namespace orrery::memory {

enum class OutsideCall : std::uint8_t {
  time,
  gettimeofday,
  clock_gettime,
  timespec_get,
  clock,
  rand,
  random,
  drand48,
  lrand48,
  mrand48,
  getrandom,
  getentropy,
  arc4random,
  random_device,
  count
};

const char* name_of(OutsideCall call) noexcept;

struct OutsideCalls {
  bool watching = false;
  std::uint32_t seen = 0;          // bit n: OutsideCall n
  std::int64_t shift_seconds = 0;  // added to what the clocks say in application mode

  bool has(OutsideCall call) const noexcept {
    return (seen >> static_cast<unsigned>(call) & 1) != 0;
  }
};

extern constinit thread_local OutsideCalls outside_calls [[gnu::tls_model("initial-exec")]];

}  // namespace orrery::memory

#endif  // ORRERY_MEMORY_OUTSIDE_CALLS_H
