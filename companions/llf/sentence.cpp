// SPDX-License-Identifier: Apache-2.0
//
// One buffer for each thread.
#include "llf/sentence.h"

#include <stdarg.h>
#include <stdio.h>

namespace orrery::llf {

namespace {
// Not a PlatformLocal: this library knows no handlers, and nothing keeps the text.
thread_local char sentence[768];
}  // namespace

void say(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
}

const char* said() {
  return sentence;
}

}  // namespace orrery::llf
