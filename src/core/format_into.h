// SPDX-License-Identifier: Apache-2.0
//
// Text into a buffer without allocating, cut off where it is too long: for handlers of signals.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace orrery {

/// Returns its length. No zero ends it.
template <class... Parts>
std::size_t format_into(char* out, std::size_t bytes, fmt::format_string<Parts...> format,
                        Parts&&... parts) {
  const auto end = fmt::format_to_n(out, static_cast<std::ptrdiff_t>(bytes), format,
                                    std::forward<Parts>(parts)...);
  return std::min(bytes, end.size);
}

}  // namespace orrery
