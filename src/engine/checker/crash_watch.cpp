// SPDX-License-Identifier: Apache-2.0
#include "engine/checker/crash_watch.h"

#include <unistd.h>

#include <string>

#include "memory/application_mode.h"
#include "memory/poison.h"

namespace orrery::checker {
namespace {

constexpr int kExitFault = 3;

}  // namespace

CrashWatch::CrashWatch(const LpChecker& checker) : checker_(checker) {
  if (!memory::kPoisons) activity.teller = this;
}

CrashWatch::~CrashWatch() {
  activity.teller = nullptr;
}

/// Not async-signal-safe in the strict sense: it formats text with the system's malloc. The crash
/// was in a handler, whose malloc is the LP's. If the crash was in the system's malloc all the
/// same, a second crash ends the process as it would without this class.
bool CrashWatch::tell(int signal) const {
  const memory::PlatformMode platform;
  const std::string sentence = checker_.crash_sentence(signal);
  if (sentence.empty()) return false;
  const std::string text = "orrery: " + sentence + "\n";
  const auto written = write(STDERR_FILENO, text.data(), text.size());
  _exit(written < 0 ? kExitFault + 1 : kExitFault);
}

}  // namespace orrery::checker
