// SPDX-License-Identifier: Apache-2.0
//
// Crashes, abort(), failed assertions, std::terminate, an exhausted stack, exit() and its kin in
// model code, and calls that would end the process or double it all the same: a signal to itself,
// fork(), a crash's signal that is not to be handled. Where the call can be dropped
// (core/model_stack.h) the thread goes on without it, and nothing is told here. Elsewhere the
// sudden end of the process gets a sentence: it names LP, event and time of the thread that did it,
// and ends the process as it would have ended without: a signal with its own exit code, what was
// there before (a sanitizer's report, a core file) with it. Only exit(), which would look like
// success, becomes the exit code of a model fault.
//
// The sentence is made on the thread's own signal stack (ThreadWatch gives it one) and without
// allocating: the crash may have been within malloc.
#pragma once

#include <optional>

#include "core/crash.h"
#include "run/activity.h"

namespace orrery {

/// In the handler of a signal, which interrupted model code that cannot be left: the same sentence,
/// and the end. Returns where another thread is at that already.
void end_process_for(const Crash& crash, const void* context);

/// As long as one exists, crashes are dropped or told. Several are as one. The thread that makes
/// the first, and ends it, may exhaust its stack in any code of the model: prepare(), report().
class CrashGuard {
 public:
  CrashGuard();
  ~CrashGuard();
  CrashGuard(const CrashGuard&) = delete;
  CrashGuard& operator=(const CrashGuard&) = delete;

 private:
  std::optional<SignalStack> stack_;  ///< of the first
};

}  // namespace orrery
