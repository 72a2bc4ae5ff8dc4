// SPDX-License-Identifier: Apache-2.0
//
// Gives a crash of a handler a sentence. A model that keeps a pointer where no rollback restores it
// may crash when it is executed again, which is a finding like any other, only that the process
// cannot go on: it says what it knows and ends with the exit code of a model fault.
//
// In a build with the address sanitizer the sanitizer's own report is better, and nothing is done.
#pragma once

#include <signal.h>

#include <array>

#include "engine/checker/lp_checker.h"

namespace orrery::checker {

/// While it exists, signals of a crash end the process as a model fault if a handler of `checker`
/// runs, and as always if none does. One at a time.
class CrashWatch {
 public:
  explicit CrashWatch(const LpChecker& checker);
  ~CrashWatch();
  CrashWatch(const CrashWatch&) = delete;
  CrashWatch& operator=(const CrashWatch&) = delete;

 private:
  static constexpr std::array<int, 5> kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace orrery::checker
