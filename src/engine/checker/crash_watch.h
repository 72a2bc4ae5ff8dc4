// SPDX-License-Identifier: Apache-2.0
//
// Reports a crash of a handler as a model fault. A model that keeps a pointer where no rollback
// restores it may crash when an event is executed again. This is a finding like any other, except
// that the process cannot go on: it prints the sentence and ends with the exit code of a model
// fault.
//
// Off in a build with the address sanitizer, whose own report is better.
#pragma once

#include "engine/checker/lp_checker.h"
#include "run/containment/activity.h"
#include "run/containment/crash_guard.h"

namespace orrery::checker {

/// While an object exists, a crash of a handler of `checker` on this thread ends the process as a
/// model fault. At most one object at a time.
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
