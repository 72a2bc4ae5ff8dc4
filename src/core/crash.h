// SPDX-License-Identifier: Apache-2.0
//
// What model code did that would have ended the process, and the words for it: the same wherever
// it happens, whether the process ends or only that call.
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
  std::size_t stack_bytes = 0;  ///< exhausted_stack: how large it was
  char text[kTextBytes] = {};   ///< assertion: where and what; terminate: of the exception; exit:
                                ///< the call, and why not; overtime: the limit. Cut off where it is
                                ///< too long
  Frames frames = {};           ///< where it was, as far as is known
};

/// What else there is to know of one.
struct CrashTrace {
  Frames frames;
  bool of_the_moment = false;  ///< it need not come again from the same state
};

/// A crash as an exception of the model.
class CrashFault : public ModelFault {
 public:
  explicit CrashFault(const Crash& crash);
  const CrashTrace trace;
};
/// Of the crash that is being handled as an exception; empty if it is another.
CrashTrace trace_of_current_exception();

/// What assert() says, and std::terminate for the exception that is being handled, if there is one.
Crash failed_assertion(const char* expression, const char* file, unsigned line,
                       const char* function);
Crash termination();
/// Of exit() and the like; of another call that is refused, and why.
Crash exit_by(const char* function);
Crash forbidden_call(const char* function, const char* why);
Crash overtime(std::string_view limit);

/// Signals that crashes raise.
std::span<const int> crash_signals();

/// "a crash (SIGSEGV, access to memory that is not there)" and the like, without allocating: for
/// handlers of signals. Returns its length.
std::size_t describe(const Crash& crash, char* out, std::size_t bytes);
std::string describe(const Crash& crash);

/// What helps to find it; empty if the words say it all.
std::string_view hint_for(const Crash& crash);

}  // namespace orrery
