// SPDX-License-Identifier: Apache-2.0
#include "core/format_into.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace orrery {

std::size_t vformat_into(char* out, std::size_t bytes, fmt::string_view format,
                         fmt::format_args parts) {
  return std::min(bytes, fmt::vformat_to_n(out, bytes, format, parts).size);
}

void vappend_format(std::string& text, fmt::string_view format, fmt::format_args parts) {
  fmt::vformat_to(std::back_inserter(text), format, parts);
}

}  // namespace orrery
