// SPDX-License-Identifier: Apache-2.0
#include "core/crash.h"

#include <signal.h>

#include <array>
#include <exception>
#include <utility>

#include "core/format_into.h"

namespace orrery {
namespace {

constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};

const char* text_of(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV, access to memory that is not there";
    case SIGBUS:
      return "SIGBUS, access to memory that cannot be reached";
    case SIGFPE:
      return "SIGFPE, such as a division by zero";
    case SIGILL:
      return "SIGILL, an instruction that does not exist";
    case SIGTRAP:
      return "SIGTRAP, a breakpoint without a debugger";
    case SIGSYS:
      return "SIGSYS, a system call that is not allowed";
    case SIGABRT:
      return "SIGABRT, of abort() or the C library";
    default:
      return "a signal";
  }
}

}  // namespace

std::span<const int> crash_signals() {
  return kSignals;
}

std::size_t describe(const Crash& crash, char* out, std::size_t bytes) {
  const auto put = [&]<class... Parts>(fmt::format_string<Parts...> format, Parts&&... parts) {
    return format_into(out, bytes, format, std::forward<Parts>(parts)...);
  };
  switch (crash.kind) {
    case Crash::Kind::signal:
      return put("a crash ({})", std::string_view(text_of(crash.signal)));
    case Crash::Kind::exhausted_stack:
      return put("the stack of {} KiB is exhausted (a recursion without end?)",
                 crash.stack_bytes / 1024);
    case Crash::Kind::assertion:
      return put("an assertion failed: {}", std::string_view(crash.text));
    case Crash::Kind::terminate:
      return crash.text[0] == '\0' ? put("std::terminate was called")
                                   : put("std::terminate was called (the exception: {})",
                                         std::string_view(crash.text));
    case Crash::Kind::exit:
      return put("it called {}", std::string_view(crash.text));
    case Crash::Kind::overtime:
      return put(
          "it ran for more than {} of wall-clock time, the --event-time-limit (a "
          "loop without end?)",
          std::string_view(crash.text));
  }
  return 0;
}

namespace {

template <class... Parts>
Crash crash_with_text(Crash::Kind kind, fmt::format_string<Parts...> format, Parts&&... parts) {
  const bool calls_abort = kind == Crash::Kind::assertion || kind == Crash::Kind::terminate;
  Crash crash{.kind = kind, .signal = calls_abort ? SIGABRT : 0};
  const std::size_t size =
      format_into(crash.text, Crash::kTextBytes - 1, format, std::forward<Parts>(parts)...);
  crash.text[size] = '\0';
  return crash;
}

}  // namespace

Crash failed_assertion(const char* expression, const char* file, unsigned line,
                       const char* function) {
  return crash_with_text(Crash::Kind::assertion, "{} ({}:{}{}{})", expression, file, line,
                         function == nullptr ? "" : ", ", function == nullptr ? "" : function);
}

Crash termination() {
  if (!std::current_exception()) return {.kind = Crash::Kind::terminate, .signal = SIGABRT};
  try {
    throw;
  } catch (const std::exception& exception) {
    return crash_with_text(Crash::Kind::terminate, "{}", exception.what());
  } catch (...) {
    return crash_with_text(Crash::Kind::terminate, "it is not a std::exception");
  }
}

Crash exit_by(const char* function) {
  return forbidden_call(
      function, "model code must not end the process, context.fail() ends a run with a reason");
}

Crash forbidden_call(const char* function, const char* why) {
  return crash_with_text(Crash::Kind::exit, "{}; {}", function, why);
}

Crash overtime(std::string_view limit) {
  return crash_with_text(Crash::Kind::overtime, "{}", limit);
}

std::string_view hint_for(const Crash& crash) {
  if (crash.kind == Crash::Kind::exit || crash.kind == Crash::Kind::overtime) return "";
  return "; 'orrery run --engine checker' says more about mistakes with memory";
}

CrashFault::CrashFault(const Crash& crash)
    : ModelFault(describe(crash) += hint_for(crash)),
      trace{crash.frames, crash.kind == Crash::Kind::overtime} {}

CrashTrace trace_of_current_exception() {
  if (!std::current_exception()) return {};
  try {
    throw;
  } catch (const CrashFault& fault) {
    return fault.trace;
  } catch (...) {
    return {};
  }
}

std::string describe(const Crash& crash) {
  std::array<char, 512> text;
  return {text.data(), describe(crash, text.data(), text.size())};
}

}  // namespace orrery
