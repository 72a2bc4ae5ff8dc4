// SPDX-License-Identifier: Apache-2.0
//
// Sentences quote what users wrote and what files hold. Some of that must not reach a terminal as
// it is: escape sequences would act, and bytes that are no text may end as anything.
#pragma once

#include <string>
#include <string_view>

namespace orrery {

/// `text` with every control character (but tabs and ends of lines) and every byte that is not part
/// of UTF-8 text written as "\x1b".
std::string printable(std::string_view text);

/// With ASCII's upper-case letters in lower case.
std::string lower_case(std::string_view text);

/// Whether this byte is no part of a text file: a control character other than white space.
constexpr bool is_binary(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && (byte < '\t' || byte > '\r')) || byte == 0x7f;
}

}  // namespace orrery
