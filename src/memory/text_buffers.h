// SPDX-License-Identifier: Apache-2.0
//
// The buffers for the text of strerror() and strsignal(). The C library keeps a buffer for each
// thread, and a handler may read the text until it returns. If the handler is interrupted and
// another handler on the same thread asks for a text, the first one would read the wrong text. So
// the platform has its own buffers (interpose_text.cpp), and preemption saves them
// (run/containment/preemption.h).
#pragma once

#include <array>

namespace orrery::memory {

struct TextBuffers {
  std::array<char, 64> error, signal;
};
extern constinit thread_local TextBuffers text_buffers [[gnu::tls_model("initial-exec")]];

}  // namespace orrery::memory
