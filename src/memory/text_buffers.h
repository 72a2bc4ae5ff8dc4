// SPDX-License-Identifier: Apache-2.0
//
// Where strerror() and strsignal() leave their text. The C library keeps a buffer for each thread,
// and a handler may look at the text until it returns: one that is interrupted meanwhile, while
// another asks for a text of its own on the same thread, would find that. So the buffers are ours
// (interpose_text.cpp), and whoever interrupts handlers sets them aside (run/preemption.h).
#pragma once

#include <array>

namespace orrery::memory {

struct TextBuffers {
  std::array<char, 64> error, signal;
};
extern constinit thread_local TextBuffers text_buffers [[gnu::tls_model("initial-exec")]];

}  // namespace orrery::memory
