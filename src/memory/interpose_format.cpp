// SPDX-License-Identifier: Apache-2.0
//
// snprintf and similar functions, each followed by a point where the calling handler can be
// preempted (run/containment/preemption.h). A handler that mainly formats text is nearly always in
// the C library, where a preemption signal cannot interrupt it.
#include <atomic>
#include <cstdarg>
#include <cstddef>

#include "memory/application_mode.h"
#include "memory/next_definition.h"

namespace rt = orrery::memory;

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)

#define ORRERY_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

int format(char* out, std::size_t bytes, const char* format, va_list arguments,
           const void* caller) noexcept {
  static constinit std::atomic<int (*)(char*, std::size_t, const char*, va_list)> known{nullptr};
  const int result = rt::next_definition(known, "vsnprintf")(out, bytes, format, arguments);
  rt::heed_attention(caller);
  return result;
}

/// Called by programs compiled with _FORTIFY_SOURCE. `room`: of the buffer.
int format_checked(char* out, std::size_t bytes, int flag, std::size_t room, const char* format,
                   va_list arguments, const void* caller) noexcept {
  using Function = int(char*, std::size_t, int, std::size_t, const char*, va_list);
  static constinit std::atomic<Function*> known{nullptr};
  const int result =
      rt::next_definition(known, "__vsnprintf_chk")(out, bytes, flag, room, format, arguments);
  rt::heed_attention(caller);
  return result;
}

}  // namespace

ORRERY_EXPORT int vsnprintf(char* out, std::size_t bytes, const char* text,
                            va_list arguments) noexcept {
  return format(out, bytes, text, arguments, __builtin_return_address(0));
}

ORRERY_EXPORT int snprintf(char* out, std::size_t bytes, const char* text, ...) noexcept {
  va_list arguments;
  va_start(arguments, text);
  const int result = format(out, bytes, text, arguments, __builtin_return_address(0));
  va_end(arguments);
  return result;
}

ORRERY_EXPORT int __vsnprintf_chk(char* out, std::size_t bytes, int flag, std::size_t room,
                                  const char* text, va_list arguments) noexcept {
  return format_checked(out, bytes, flag, room, text, arguments, __builtin_return_address(0));
}

ORRERY_EXPORT int __snprintf_chk(char* out, std::size_t bytes, int flag, std::size_t room,
                                 const char* text, ...) noexcept {
  va_list arguments;
  va_start(arguments, text);
  const int result =
      format_checked(out, bytes, flag, room, text, arguments, __builtin_return_address(0));
  va_end(arguments);
  return result;
}

#endif
