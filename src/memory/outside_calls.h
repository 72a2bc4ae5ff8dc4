// SPDX-License-Identifier: Apache-2.0
//
// Records which sources outside its LP a handler has called: clocks and random devices of the
// system (interpose_outside.cpp), and functions of the C library that keep state of their own
// (interpose_stateful.cpp). The interposed functions note their own names here when a thread that
// watches calls them in application mode. An engine that checks handlers can then name the
// function, and can shift the clocks so that a dependence on them shows.
//
// Thread-local like the mode, because time() has no argument that leads to an engine.
#ifndef ORRERY_MEMORY_OUTSIDE_CALLS_H
#define ORRERY_MEMORY_OUTSIDE_CALLS_H

#include <atomic>
#include <cstdint>

#include "memory/application_mode.h"

namespace orrery::memory {

enum class OutsideCall : std::uint8_t {
  // Each call gives another result.
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
  // These also set a global variable, which few programs read.
  lgamma,
  // These keep state, or return a buffer of their own: kFirstStateful to count.
  strtok,
  asctime,
  ctime,
  gmtime,
  localtime,
  ecvt,
  l64a,
  srand,
  srandom,
  srand48,
  mblen,
  mbtowc,
  wctomb,
  mbrlen,
  mbrtowc,
  wcrtomb,
  mbsrtowcs,
  wcsrtombs,
  setlocale,
  setenv,
  getopt,
  hsearch,
  tmpnam,
  ttyname,
  getpwnam,
  getgrnam,
  inet_ntoa,
  gethostbyname,
  count
};
inline constexpr OutsideCall kFirstStateful = OutsideCall::strtok;

// A set of calls: bit n is OutsideCall n.
using OutsideCallSet = std::uint64_t;
static_assert(static_cast<unsigned>(OutsideCall::count) <= 64);

constexpr OutsideCallSet set_of(OutsideCall call) noexcept {
  return OutsideCallSet{1} << static_cast<unsigned>(call);
}
inline constexpr OutsideCallSet kStatefulCalls = ~(set_of(kFirstStateful) - 1);

const char* name_of(OutsideCall call) noexcept;
// A replacement for a stateful function.
const char* instead_of(OutsideCall call) noexcept;

struct OutsideCalls {
  bool watching = false;
  OutsideCallSet seen = 0;
  std::int64_t shift_seconds = 0;  // added to the clocks in application mode

  bool has(OutsideCall call) const noexcept { return (seen & set_of(call)) != 0; }
};

extern constinit thread_local OutsideCalls outside_calls [[gnu::tls_model("initial-exec")]];

// Called with the name of the function before exit() or a similar function ends the process, on the
// calling thread. Relaxed suffices: set once, before any model code runs.
extern constinit std::atomic<void (*)(const char* function)> before_exit;
// The same before the process sends a signal to itself (to a thread or to the whole process),
// before it forks, and before it sets a signal's handler to the default or to ignore.
extern constinit std::atomic<void (*)(const char* function, int signal, bool to_process)>
    before_own_signal;
extern constinit std::atomic<void (*)(const char* function)> before_fork;
extern constinit std::atomic<void (*)(const char* function, int signal)> before_unhandled;
// The same before a failed assert() prints its message and aborts.
extern constinit std::atomic<void (*)(const char* expression, const char* file, unsigned line,
                                      const char* function)>
    before_assertion;
// The same before abort() raises its signal, whose handler could not name the caller.
extern constinit std::atomic<void (*)()> before_abort;
// For the interposed functions. Not instrumented, see next_definition.h.
[[gnu::always_inline]] inline bool outside_calls_watched() noexcept {
  return outside_calls.watching && running_heap() != nullptr;
}
[[gnu::always_inline]] inline void note(OutsideCall call) noexcept {
  if (outside_calls_watched()) {
    outside_calls.seen |= OutsideCallSet{1} << static_cast<unsigned>(call);
  }
}

}  // namespace orrery::memory

#endif  // ORRERY_MEMORY_OUTSIDE_CALLS_H
