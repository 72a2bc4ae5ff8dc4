// SPDX-License-Identifier: Apache-2.0
//
// Wraps the system's clocks and random numbers for the whole process, so that the checker can name
// a handler that calls them (outside_calls.h). Outside of application mode, and where no thread
// watches, a wrapper costs a load and a comparison before it calls the real function. Also wraps
// functions that end the process without atexit(), send it a signal or fork it, so that a handler
// that calls them can be named.
//
// Linked as an object into executables, like interpose.cpp and for the same reason. Not caught: the
// processor's own counters and random numbers (rdtsc, rdrand), which are instructions, not calls.
// Their values still differ from one execution to the next.
#include <dlfcn.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <ctime>

#include "memory/next_definition.h"
#include "memory/outside_calls.h"

namespace orrery::memory {
namespace {

// Also called before a sanitizer has state for the thread: not instrumented.
#define ORRERY_PLAIN __attribute__((no_sanitize("address,thread,undefined")))

ORRERY_PLAIN std::int64_t shift_seconds() noexcept {
  return outside_calls_watched() ? outside_calls.shift_seconds : 0;
}

}  // namespace
}  // namespace orrery::memory

namespace outside = orrery::memory;
using Call = orrery::memory::OutsideCall;

#define ORRERY_EXPORT extern "C" __attribute__((visibility("default"))) ORRERY_PLAIN

ORRERY_EXPORT time_t time(time_t* result) noexcept {
  static constinit std::atomic<time_t (*)(time_t*)> known{nullptr};
  outside::note(Call::time);
  const time_t now = outside::next_definition(known, "time")(nullptr) + outside::shift_seconds();
  if (result != nullptr) {
    *result = now;
  }
  return now;
}

ORRERY_EXPORT int gettimeofday(timeval* __restrict result, void* __restrict zone) noexcept {
  static constinit std::atomic<int (*)(timeval*, void*)> known{nullptr};
  outside::note(Call::gettimeofday);
  const int status = outside::next_definition(known, "gettimeofday")(result, zone);
  if (status == 0) {
    result->tv_sec += outside::shift_seconds();
  }
  return status;
}

ORRERY_EXPORT int clock_gettime(clockid_t clock_id, timespec* result) noexcept {
  static constinit std::atomic<int (*)(clockid_t, timespec*)> known{nullptr};
  outside::note(Call::clock_gettime);
  const int status = outside::next_definition(known, "clock_gettime")(clock_id, result);
  if (status == 0) {
    result->tv_sec += outside::shift_seconds();
  }
  return status;
}

ORRERY_EXPORT int timespec_get(timespec* result, int base) noexcept {
  static constinit std::atomic<int (*)(timespec*, int)> known{nullptr};
  outside::note(Call::timespec_get);
  const int status = outside::next_definition(known, "timespec_get")(result, base);
  if (status != 0) {
    result->tv_sec += outside::shift_seconds();
  }
  return status;
}

ORRERY_EXPORT clock_t clock() noexcept {
  static constinit std::atomic<clock_t (*)()> known{nullptr};
  outside::note(Call::clock);
  return outside::next_definition(known, "clock")() + outside::shift_seconds() * CLOCKS_PER_SEC;
}

#define ORRERY_RANDOM(type, name)                            \
  ORRERY_EXPORT type name() noexcept {                       \
    static constinit std::atomic<type (*)()> known{nullptr}; \
    outside::note(Call::name);                               \
    return outside::next_definition(known, #name)();         \
  }

ORRERY_RANDOM(int, rand)
ORRERY_RANDOM(long, random)
ORRERY_RANDOM(double, drand48)
ORRERY_RANDOM(long, lrand48)
ORRERY_RANDOM(long, mrand48)

ORRERY_EXPORT ssize_t getrandom(void* buffer, std::size_t bytes, unsigned flags) {
  static constinit std::atomic<ssize_t (*)(void*, std::size_t, unsigned)> known{nullptr};
  outside::note(Call::getrandom);
  return outside::next_definition(known, "getrandom")(buffer, bytes, flags);
}

ORRERY_EXPORT int getentropy(void* buffer, std::size_t bytes) {
  static constinit std::atomic<int (*)(void*, std::size_t)> known{nullptr};
  outside::note(Call::getentropy);
  return outside::next_definition(known, "getentropy")(buffer, bytes);
}

#if __GLIBC_PREREQ(2, 36)
ORRERY_EXPORT std::uint32_t arc4random() noexcept {
  static constinit std::atomic<std::uint32_t (*)()> known{nullptr};
  outside::note(Call::arc4random);
  return outside::next_definition(known, "arc4random")();
}
#endif

// std::random_device::_M_getval(), which operator() calls. It may use the processor's generator and
// then calls none of the functions above.
ORRERY_EXPORT unsigned _ZNSt13random_device9_M_getvalEv(void* device) {
  static constinit std::atomic<unsigned (*)(void*)> known{nullptr};
  outside::note(Call::random_device);
  return outside::next_definition(known, "_ZNSt13random_device9_M_getvalEv")(device);
}

namespace orrery::memory {
namespace {

ORRERY_PLAIN void tell_end(const char* function) noexcept {
  if (const auto hook = outside::before_exit.load(std::memory_order_relaxed)) {
    hook(function);
  }
}

ORRERY_PLAIN [[noreturn]] void end_process(const char* function, int status) noexcept {
  tell_end(function);
  for (;;) {
    syscall(SYS_exit_group, status);
  }
}

}  // namespace
}  // namespace orrery::memory

// Calls the hook before the destructors of thread-local objects and the functions registered with
// atexit(): none of these may run if the call is in an event that is then dropped.
ORRERY_EXPORT [[noreturn]] void exit(int status) {
  static constinit std::atomic<void (*)(int)> known{nullptr};
  outside::tell_end("exit()");
  outside::next_definition(known, "exit")(status);
  __builtin_unreachable();
}

ORRERY_EXPORT [[noreturn]] void quick_exit(int status) noexcept {
  static constinit std::atomic<void (*)(int)> known{nullptr};
  outside::tell_end("quick_exit()");
  outside::next_definition(known, "quick_exit")(status);
  __builtin_unreachable();
}

ORRERY_EXPORT [[noreturn]] void abort() noexcept {
  static constinit std::atomic<void (*)()> known{nullptr};
  if (const auto hook = outside::before_abort.load(std::memory_order_relaxed)) {
    hook();
  }
  outside::next_definition(known, "abort")();
  __builtin_unreachable();
}

// The function that assert() calls.
ORRERY_EXPORT [[noreturn]] void __assert_fail(const char* expression, const char* file,
                                              unsigned line, const char* function) noexcept {
  static constinit std::atomic<void (*)(const char*, const char*, unsigned, const char*)> known{
      nullptr};
  if (const auto hook = outside::before_assertion.load(std::memory_order_relaxed)) {
    hook(expression, file, line, function);
  }
  outside::next_definition(known, "__assert_fail")(expression, file, line, function);
  __builtin_unreachable();
}

// std::__glibcxx_assert_fail(), of the library's own assertions (_GLIBCXX_ASSERTIONS).
ORRERY_EXPORT [[noreturn]] void _ZSt21__glibcxx_assert_failPKciS0_S0_(const char* file, int line,
                                                                      const char* function,
                                                                      const char* condition) {
  __assert_fail(condition, file, static_cast<unsigned>(line), function);
}

ORRERY_EXPORT [[noreturn]] void _exit(int status) {
  outside::end_process("_exit()", status);
}

ORRERY_EXPORT [[noreturn]] void _Exit(int status) noexcept {
  outside::end_process("_Exit()", status);
}

// ---- Signals to the process itself. Signals sent by syscall() go unnoticed.

namespace orrery::memory {
namespace {

ORRERY_PLAIN void tell_own_signal(const char* function, int number,
                                  bool to_process = false) noexcept {
  if (const auto hook = outside::before_own_signal.load(std::memory_order_relaxed)) {
    hook(function, number, to_process);
  }
}

}  // namespace
}  // namespace orrery::memory

ORRERY_EXPORT int raise(int number) noexcept {
  static constinit std::atomic<int (*)(int)> known{nullptr};
  outside::tell_own_signal("raise", number);
  return outside::next_definition(known, "raise")(number);
}

ORRERY_EXPORT int kill(pid_t process, int number) noexcept {
  static constinit std::atomic<int (*)(pid_t, int)> known{nullptr};
  if (process == getpid() || process == 0 || process == -getpgrp()) {
    outside::tell_own_signal("kill", number, true);
  }
  return outside::next_definition(known, "kill")(process, number);
}

ORRERY_EXPORT int pthread_kill(pthread_t thread, int number) noexcept {
  static constinit std::atomic<int (*)(pthread_t, int)> known{nullptr};
  outside::tell_own_signal("pthread_kill", number);
  return outside::next_definition(known, "pthread_kill")(thread, number);
}

ORRERY_EXPORT int tgkill(pid_t process, pid_t thread, int number) noexcept {
  static constinit std::atomic<int (*)(pid_t, pid_t, int)> known{nullptr};
  if (process == getpid()) {
    outside::tell_own_signal("tgkill", number);
  }
  return outside::next_definition(known, "tgkill")(process, thread, number);
}

ORRERY_EXPORT pid_t fork() noexcept {
  static constinit std::atomic<pid_t (*)()> known{nullptr};
  if (const auto hook = outside::before_fork.load(std::memory_order_relaxed)) {
    hook("fork()");
  }
  return outside::next_definition(known, "fork")();
}

// Sanitizers wrap these functions themselves, and call them before they are initialised.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
namespace orrery::memory {
namespace {

void tell_unhandled(const char* function, int number, sighandler_t handler) noexcept {
  const auto hook = outside::before_unhandled.load(std::memory_order_relaxed);
  if (hook != nullptr && (handler == SIG_DFL || handler == SIG_IGN)) {
    hook(function, number);
  }
}

}  // namespace
}  // namespace orrery::memory

ORRERY_EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
  static constinit std::atomic<sighandler_t (*)(int, sighandler_t)> known{nullptr};
  outside::tell_unhandled("signal", number, handler);
  return outside::next_definition(known, "signal")(number, handler);
}

ORRERY_EXPORT int sigaction(int number, const struct sigaction* action,
                            struct sigaction* before) noexcept {
  static constinit std::atomic<int (*)(int, const struct sigaction*, struct sigaction*)> known{
      nullptr};
  if (action != nullptr) {
    outside::tell_unhandled("sigaction", number, action->sa_handler);
  }
  return outside::next_definition(known, "sigaction")(number, action, before);
}
#endif
