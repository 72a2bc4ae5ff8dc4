// SPDX-License-Identifier: Apache-2.0
//
// Text into memory that is there: a buffer, without allocating, for handlers of signals, or the end
// of a string. As functions of fmt's own these would have its formatting in each file compiled once
// more, which takes two seconds; what it formats into a new string is in its library.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <string>

namespace orrery {

std::size_t vformat_into(char* out, std::size_t bytes, fmt::string_view format,
                         fmt::format_args parts);
void vappend_format(std::string& text, fmt::string_view format, fmt::format_args parts);

/// Returns its length, cut off where it is too long. No zero ends it.
template <class... Parts>
std::size_t format_into(char* out, std::size_t bytes, fmt::format_string<Parts...> format,
                        Parts&&... parts) {
  return vformat_into(out, bytes, format, fmt::make_format_args(parts...));
}

template <class... Parts>
void append_format(std::string& text, fmt::format_string<Parts...> format, Parts&&... parts) {
  vappend_format(text, format, fmt::make_format_args(parts...));
}

}  // namespace orrery
