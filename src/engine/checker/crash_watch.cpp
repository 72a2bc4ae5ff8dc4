// SPDX-License-Identifier: Apache-2.0
#include "engine/checker/crash_watch.h"

#include <unistd.h>

#include <cstddef>
#include <string>

#include "memory/application_mode.h"
#include "memory/poison.h"

namespace orrery::checker {
namespace {

constexpr int kExitFault = 3;

/// A signal's handler has no other way to its run. Written before the handlers are installed and
/// after they are removed, by the thread that may crash.
const LpChecker* watched = nullptr;

/// Not safe in the strict sense: the text is formatted with the system's malloc. The crash was in a
/// handler, whose malloc is the LP's; should it have been in the system's all the same, the second
/// crash ends the process as if nobody watched.
void on_crash(int signal) {
  const memory::PlatformMode platform;
  const std::string text = "orrery: " + watched->crash_sentence(signal) + "\n";
  if (text.size() <= sizeof "orrery: \n") return;  // again, with the default action
  const auto written = write(STDERR_FILENO, text.data(), text.size());
  _exit(written < 0 ? kExitFault + 1 : kExitFault);
}

}  // namespace

CrashWatch::CrashWatch(const LpChecker& checker) {
  if (memory::kPoisons) return;
  watched = &checker;
  struct sigaction action {};
  action.sa_handler = on_crash;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &before_[i]);
}

CrashWatch::~CrashWatch() {
  if (memory::kPoisons) return;
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  watched = nullptr;
}

}  // namespace orrery::checker
