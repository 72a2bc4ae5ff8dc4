// SPDX-License-Identifier: Apache-2.0
//
// What `free` met in the handler that runs on this thread: it cannot throw, so the handler goes on
// and fails when it returns. Thread-local like the mode, because `free` knows no engine.
#pragma once

#include <string>

#include "memory/application_mode.h"

namespace orrery::checker {

struct MisuseNote {
  bool seen = false;
  memory::HeapMisuse what{};
  std::string sentence() const {
    return std::string("it misused its memory: ") + memory::describe(what);
  }
};
inline constinit thread_local MisuseNote misuse_note;

}  // namespace orrery::checker
