// SPDX-License-Identifier: Apache-2.0
//
// Gives a crash of a handler a sentence. A model that keeps a pointer where no rollback restores it
// may crash when it is executed again, which is a finding like any other, only that the process
// cannot go on: it says what it knows and ends with the exit code of a model fault.
//
// In a build with the address sanitizer the sanitizer's own report is better.
#pragma once

#include "engine/checker/lp_checker.h"
#include "run/activity.h"
#include "run/crash_guard.h"

namespace orrery::checker {

/// While it exists, a crash of a handler of `checker` on this thread ends the process as a model
/// fault. One at a time.
class CrashWatch final : CrashTeller {
 public:
  explicit CrashWatch(const LpChecker& checker);
  ~CrashWatch();
  CrashWatch(const CrashWatch&) = delete;
  CrashWatch& operator=(const CrashWatch&) = delete;

 private:
  bool tell(int signal) const override;

  const LpChecker& checker_;
  const CrashGuard guard_;
};

}  // namespace orrery::checker
