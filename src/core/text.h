// SPDX-License-Identifier: Apache-2.0
//
// Safe quoting of users' input and file content in messages: escape sequences would affect the
// terminal, and bytes that are not UTF-8 might be displayed as anything.
#pragma once

#include <string>
#include <string_view>

namespace orrery {

/// `text` with every control character (but tabs and ends of lines) and every byte that is not part
/// of UTF-8 text written as "\x1b".
std::string printable(std::string_view text);

/// `text` with ASCII's upper-case letters in lower case.
std::string lower_case(std::string_view text);

/// Whether this byte is not part of a text file: a control character other than white space.
constexpr bool is_binary(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && (byte < '\t' || byte > '\r')) || byte == 0x7f;
}

}  // namespace orrery
