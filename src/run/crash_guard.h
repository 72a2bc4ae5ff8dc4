// SPDX-License-Identifier: Apache-2.0
//
// Crashes, abort(), failed assertions, std::terminate, an exhausted stack, exit() and its kin in
// model code. Where the call can be dropped (core/model_stack.h) the thread goes on without it, and
// nothing is told here. Elsewhere the sudden end of the process gets a sentence: it names LP, event
// and time of the thread that did it, and ends the process as it would have ended without: a signal
// with its own exit code, what was there before (a sanitizer's report, a core file) with it. Only
// exit(), which would look like success, becomes the exit code of a model fault.
//
// The sentence is made on the thread's own signal stack (ThreadWatch gives it one) and without
// allocating: the crash may have been within malloc.
#pragma once

#include "core/crash.h"

namespace orrery {

/// In the handler of a signal, which interrupted model code that cannot be left: the same sentence,
/// and the end. Returns where another thread is at that already.
void end_process_for(const Crash& crash, const void* context);

/// As long as one exists, crashes are dropped or told. Several are as one.
class CrashGuard {
 public:
  CrashGuard();
  ~CrashGuard();
  CrashGuard(const CrashGuard&) = delete;
  CrashGuard& operator=(const CrashGuard&) = delete;
};

}  // namespace orrery
