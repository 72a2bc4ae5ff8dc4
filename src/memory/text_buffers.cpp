// SPDX-License-Identifier: Apache-2.0
#include "memory/text_buffers.h"

namespace orrery::memory {

constinit thread_local TextBuffers text_buffers{};

}  // namespace orrery::memory
