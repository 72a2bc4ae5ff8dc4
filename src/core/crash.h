// SPDX-License-Identifier: Apache-2.0
//
// Descriptions of crashes: actions of model code that would have ended the process. The words are
// the same wherever a crash happens, and whether the process ends or only that call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/frames.h"
#include "orrery/error.h"

namespace orrery {

struct Crash {
  enum class Kind : std::uint8_t { signal, exhausted_stack, assertion, terminate, exit, overtime };
  static constexpr std::size_t kTextBytes = 256;

  Kind kind = Kind::signal;
  int signal = 0;
  std::size_t stack_bytes = 0;  ///< exhausted_stack: size of the stack
  char text[kTextBytes] = {};   ///< assertion: place and condition; terminate: the exception; exit:
                                ///< the call, and why it is refused; overtime: the limit. Cut off
                                ///< if too long
  Frames frames = {};           ///< call stack, as far as known
};

/// Additional data of a crash.
struct CrashTrace {
  Frames frames;
  bool of_the_moment = false;  ///< the crash may not recur from the same state
};

/// A crash as an exception of the model.
class CrashFault : public ModelFault {
 public:
  explicit CrashFault(const Crash& crash);
  const CrashTrace trace;
};
/// The trace of the crash that is being handled as an exception; empty for other exceptions.
CrashTrace trace_of_current_exception();

/// Crashes by a failed assert(), and by std::terminate, with the exception being handled, if any.
Crash failed_assertion(const char* expression, const char* file, unsigned line,
                       const char* function);
Crash termination();
/// Crashes by exit() and its like, and by another refused call, with the reason.
Crash exit_by(const char* function);
Crash forbidden_call(const char* function, const char* why);
Crash overtime(std::string_view limit);

/// The signals that crashes raise.
std::span<const int> crash_signals();

/// Writes "a crash (SIGSEGV, access to memory that is not there)" and the like without allocating,
/// for signal handlers. Returns the length.
std::size_t describe(const Crash& crash, char* out, std::size_t bytes);
std::string describe(const Crash& crash);

/// A hint for finding the cause; empty if the description says it all.
std::string_view hint_for(const Crash& crash);

}  // namespace orrery
