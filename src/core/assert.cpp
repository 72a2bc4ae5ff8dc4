// SPDX-License-Identifier: Apache-2.0
#include "core/assert.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#include "memory/application_mode.h"

namespace orrery::detail {

void assertion_failed(const char* condition, const char* what, const char* file,
                      int line) noexcept {
  char text[512];
  const int length = std::snprintf(text, sizeof text,
                                   "orrery: internal error at %s:%d: it should hold that %s (%s); "
                                   "please report this with the command that led to it\n",
                                   file, line, what, condition);
  const auto bytes = static_cast<std::size_t>(length < 0 ? 0 : length);
  // If this write fails, nothing more can be done.
  [[maybe_unused]] const auto written =
      write(STDERR_FILENO, text, bytes < sizeof text ? bytes : sizeof text - 1);
  memory::thread_context.in_heap = true;  // as platform code: no handler is dropped for it
  std::abort();
}

}  // namespace orrery::detail
