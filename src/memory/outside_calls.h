// SPDX-License-Identifier: Apache-2.0
//
// Which sources outside an LP a handler has asked: the clocks and random devices of the system
// (interpose_outside.cpp), and functions of the C library that keep state of their own
// (interpose_stateful.cpp). The interposed functions note their own names here when they are called
// in application mode by a thread that watches; an engine that looks for a handler's dependence on
// them can then name the culprit, and can move the clocks so that it shows.
//
// Thread-local like the mode itself, because time() knows no engine.
#ifndef ORRERY_MEMORY_OUTSIDE_CALLS_H
#define ORRERY_MEMORY_OUTSIDE_CALLS_H

#include <atomic>
#include <cstdint>

#include "memory/application_mode.h"

namespace orrery::memory {

enum class OutsideCall : std::uint8_t {
  // Their answer is another each time.
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
  // They set a variable beside their answer, which few look at.
  lgamma,
  // They keep state, or answer in a buffer of their own: kFirstStateful to count.
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

// A set of them: bit n is OutsideCall n.
using OutsideCallSet = std::uint64_t;
static_assert(static_cast<unsigned>(OutsideCall::count) <= 64);

constexpr OutsideCallSet set_of(OutsideCall call) noexcept {
  return OutsideCallSet{1} << static_cast<unsigned>(call);
}
inline constexpr OutsideCallSet kStatefulCalls = ~(set_of(kFirstStateful) - 1);

const char* name_of(OutsideCall call) noexcept;
// What to use in place of a stateful one.
const char* instead_of(OutsideCall call) noexcept;

struct OutsideCalls {
  bool watching = false;
  OutsideCallSet seen = 0;
  std::int64_t shift_seconds = 0;  // added to what the clocks say in application mode

  bool has(OutsideCall call) const noexcept { return (seen & set_of(call)) != 0; }
};

extern constinit thread_local OutsideCalls outside_calls [[gnu::tls_model("initial-exec")]];

// Called with the name of the function before exit() or one of its kin ends the process, on the
// thread that calls it. Set once, before any model code runs: relaxed.
extern constinit std::atomic<void (*)(const char* function)> before_exit;
// The same before it sends itself a signal, as a thread or as a process, before its process is
// doubled, and before a signal's handler gives way to what the system does by default, or to
// nothing.
extern constinit std::atomic<void (*)(const char* function, int signal, bool to_process)>
    before_own_signal;
extern constinit std::atomic<void (*)(const char* function)> before_fork;
extern constinit std::atomic<void (*)(const char* function, int signal)> before_unhandled;
// The same before a failed assert() prints what it has to say and aborts.
extern constinit std::atomic<void (*)(const char* expression, const char* file, unsigned line,
                                      const char* function)>
    before_assertion;
// The same before abort() raises its signal, whose handler could not tell who had called.
extern constinit std::atomic<void (*)()> before_abort;
// For the interposed functions; not instrumented, see next_definition.h.
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
