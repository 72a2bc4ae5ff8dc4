// SPDX-License-Identifier: Apache-2.0
//
// The record of a thread's calls to the outside, their names, and replacements for them.
#include "memory/outside_calls.h"

#include <array>
#include <cstddef>

#include "memory/platform_local.h"

namespace orrery::memory {

constinit thread_local OutsideCalls outside_calls;
static const PlatformLocal calls_is_of_the_platform([] { return &outside_calls; });
constinit std::atomic<void (*)(const char* function)> before_exit{nullptr};
constinit std::atomic<void (*)(const char* function, int signal, bool to_process)>
    before_own_signal{nullptr};
constinit std::atomic<void (*)(const char* function)> before_fork{nullptr};
constinit std::atomic<void (*)(const char* function, int signal)> before_unhandled{nullptr};
constinit std::atomic<void (*)(const char*, const char*, unsigned, const char*)> before_assertion{
    nullptr};
constinit std::atomic<void (*)()> before_abort{nullptr};

namespace {

struct Function {
  OutsideCall call;
  const char* name;
  const char* instead = "";
};

constexpr const char* kStateOfYourOwn = "give it an mbstate_t of the LP's own";

// In the order of their numbers.
constexpr std::array kFunctions = {
    Function{OutsideCall::time, "time"},
    Function{OutsideCall::gettimeofday, "gettimeofday"},
    Function{OutsideCall::clock_gettime, "clock_gettime (the clocks of std::chrono)"},
    Function{OutsideCall::timespec_get, "timespec_get"},
    Function{OutsideCall::clock, "clock"},
    Function{OutsideCall::rand, "rand"},
    Function{OutsideCall::random, "random"},
    Function{OutsideCall::drand48, "drand48"},
    Function{OutsideCall::lrand48, "lrand48"},
    Function{OutsideCall::mrand48, "mrand48"},
    Function{OutsideCall::getrandom, "getrandom"},
    Function{OutsideCall::getentropy, "getentropy"},
    Function{OutsideCall::arc4random, "arc4random"},
    Function{OutsideCall::random_device, "std::random_device"},
    Function{OutsideCall::lgamma, "lgamma (which sets signgam; lgamma_r does not)"},
    Function{OutsideCall::strtok, "strtok", "use strtok_r, or std::string_view::find"},
    Function{OutsideCall::asctime, "asctime", "use asctime_r or strftime"},
    Function{OutsideCall::ctime, "ctime", "use ctime_r or strftime"},
    Function{OutsideCall::gmtime, "gmtime", "use gmtime_r"},
    Function{OutsideCall::localtime, "localtime", "use localtime_r"},
    Function{OutsideCall::ecvt, "ecvt, fcvt, qecvt or qfcvt", "use snprintf"},
    Function{OutsideCall::l64a, "l64a", "use snprintf"},
    Function{OutsideCall::srand, "srand", "use context.random()"},
    Function{OutsideCall::srandom, "srandom, initstate or setstate", "use context.random()"},
    Function{OutsideCall::srand48, "srand48, seed48 or lcong48", "use context.random()"},
    Function{OutsideCall::mblen, "mblen", "use mbrlen with an mbstate_t of the LP's own"},
    Function{OutsideCall::mbtowc, "mbtowc", "use mbrtowc with an mbstate_t of the LP's own"},
    Function{OutsideCall::wctomb, "wctomb", "use wcrtomb with an mbstate_t of the LP's own"},
    Function{OutsideCall::mbrlen, "mbrlen without a state", kStateOfYourOwn},
    Function{OutsideCall::mbrtowc, "mbrtowc without a state", kStateOfYourOwn},
    Function{OutsideCall::wcrtomb, "wcrtomb without a state", kStateOfYourOwn},
    Function{OutsideCall::mbsrtowcs, "mbsrtowcs without a state", kStateOfYourOwn},
    Function{OutsideCall::wcsrtombs, "wcsrtombs without a state", kStateOfYourOwn},
    Function{OutsideCall::setlocale, "setlocale or std::locale::global",
             "use a std::locale of the LP's own"},
    Function{OutsideCall::setenv, "setenv, unsetenv, putenv or clearenv",
             "keep the value in the LP"},
    Function{OutsideCall::getopt, "getopt", "read parameters in the model"},
    Function{OutsideCall::hsearch, "hcreate, hsearch or hdestroy",
             "use hsearch_r or std::unordered_map"},
    Function{OutsideCall::tmpnam, "tmpnam or tempnam", "read and write files in prepare()"},
    Function{OutsideCall::ttyname, "ttyname or getlogin", "ask in prepare()"},
    Function{OutsideCall::getpwnam, "getpwnam, getpwuid or getpwent", "ask in prepare()"},
    Function{OutsideCall::getgrnam, "getgrnam, getgrgid or getgrent", "ask in prepare()"},
    Function{OutsideCall::inet_ntoa, "inet_ntoa", "use inet_ntop"},
    Function{OutsideCall::gethostbyname, "gethostbyname, getservbyname or getprotobyname",
             "ask in prepare()"},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kFunctions.size(); ++i) {
    const bool stateful = kFunctions[i].call >= kFirstStateful;
    if (kFunctions[i].call != static_cast<OutsideCall>(i) ||
        stateful != (kFunctions[i].instead[0] != '\0')) {
      return false;
    }
  }
  return kFunctions.size() == static_cast<std::size_t>(OutsideCall::count);
}
static_assert(in_order());

}  // namespace

const char* name_of(OutsideCall call) noexcept {
  return kFunctions[static_cast<std::size_t>(call)].name;
}

const char* instead_of(OutsideCall call) noexcept {
  return kFunctions[static_cast<std::size_t>(call)].instead;
}

}  // namespace orrery::memory
