// SPDX-License-Identifier: Apache-2.0
//
// Copying a payload into a new event: from one piece, or from parts.
#pragma once

#include <cstddef>
#include <cstring>

#include "core/event_header.h"
#include "orrery/payload.h"

namespace orrery {

/// `size`: of the event.
[[gnu::always_inline]] inline void write_payload(std::byte* to, const void* payload,
                                                 PayloadSize size) {
  std::memcpy(to, payload, size.bytes());
}
inline void write_payload(std::byte* to, const detail::PayloadParts& parts, PayloadSize) {
  parts.write(to);
}

}  // namespace orrery
