// SPDX-License-Identifier: Apache-2.0
#include "memory/text_buffers.h"

#include "memory/platform_local.h"

namespace orrery::memory {

constinit thread_local TextBuffers text_buffers{};
static const PlatformLocal texts_is_of_the_platform([] { return &text_buffers; });

}  // namespace orrery::memory
