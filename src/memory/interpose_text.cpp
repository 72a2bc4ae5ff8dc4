// SPDX-License-Identifier: Apache-2.0
//
// strerror() and strsignal(), which may return a buffer of the thread (text_buffers.h), for the
// whole process. They run in platform mode, since memory that the library allocates for its
// translations must not lie in an LP's heap.
#include <atomic>
#include <cstdio>
#include <cstring>

#include "memory/application_mode.h"
#include "memory/next_definition.h"
#include "memory/text_buffers.h"

namespace rt = orrery::memory;

// Also called before a sanitizer has state for the thread: not instrumented.
#define ORRERY_EXPORT \
  extern "C" __attribute__((visibility("default"), no_sanitize("address,thread,undefined")))

/// GNU's strerror_r returns a constant text of the library, or a text in the buffer.
/// std::error_code calls it, too.
ORRERY_EXPORT char* strerror(int error) noexcept {
  const rt::PlatformMode platform;
  auto& buffer = rt::text_buffers.error;
  return strerror_r(error, buffer.data(), buffer.size());
}

ORRERY_EXPORT char* strsignal(int signal) noexcept {
  static constinit std::atomic<char* (*)(int)> known{nullptr};
  const rt::PlatformMode platform;
  auto& buffer = rt::text_buffers.signal;
  const char* const text = rt::next_definition(known, "strsignal")(signal);
  std::snprintf(buffer.data(), buffer.size(), "%s", text == nullptr ? "" : text);
  return buffer.data();
}
