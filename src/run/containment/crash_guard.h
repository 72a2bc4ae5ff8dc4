// SPDX-License-Identifier: Apache-2.0
//
// Handling of crashes in model code: abort(), failed assertions, std::terminate, an exhausted
// stack, exit() and its like, and other calls that would end or duplicate the process: a signal to
// itself, fork(), changing the handler of a crash's signal. If the call can be dropped
// (core/model_stack.h), the thread continues without it, and this code reports nothing. Otherwise
// it reports LP, event and time of the thread in a sentence, and ends the process as it would have
// ended without the guard: by the signal, with its exit code and everything else that it would
// cause (a sanitizer's report, a core file). Only exit(), which would look like success, becomes
// the exit code of a model fault.
//
// The sentence is made on the thread's own signal stack (of its ThreadWatch) and without
// allocating, since the crash may have been in malloc.
#pragma once

#include <optional>

#include "core/crash.h"
#include "run/containment/activity.h"

namespace orrery {

/// In a signal handler that has interrupted model code which cannot be dropped: reports it in the
/// same way and ends the process. Returns if another thread is already doing so.
void end_process_for(const Crash& crash, const void* context);

/// While one exists, crashes are dropped or reported. Several count as one. The thread that makes
/// and destroys the first may exhaust its stack in any model code: prepare(), report().
class CrashGuard {
 public:
  CrashGuard();
  ~CrashGuard();
  CrashGuard(const CrashGuard&) = delete;
  CrashGuard& operator=(const CrashGuard&) = delete;

 private:
  std::optional<SignalStack> stack_;  ///< of the first guard
};

}  // namespace orrery
