// SPDX-License-Identifier: Apache-2.0
//
// Formatting into existing memory: a buffer, without allocating, for signal handlers, or the end of
// a string. Calling fmt's functions for this directly would instantiate its formatting in each
// file, two seconds each; its formatting into a new string is compiled in its library.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <string>

namespace orrery {

std::size_t vformat_into(char* out, std::size_t bytes, fmt::string_view format,
                         fmt::format_args parts);
void vappend_format(std::string& text, fmt::string_view format, fmt::format_args parts);

/// Returns the length; cuts off text that is too long. No terminating zero.
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
