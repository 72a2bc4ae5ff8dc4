// SPDX-License-Identifier: Apache-2.0
#include "core/text.h"

#include <fmt/format.h>

namespace orrery {
namespace {

/// Bytes of the UTF-8 sequence at the beginning of `text`; 0 if there is none. Overlong forms of
/// three and four bytes are accepted, since only the terminal decodes the text.
std::size_t sequence_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xc2 ? 0
                             : lead < 0xe0 ? 2
                             : lead < 0xf0 ? 3
                             : lead < 0xf5 ? 4
                                           : 0;
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  return length;
}

/// ASCII's control characters, and U+0080 to U+009F, which some terminals interpret.
bool is_control(std::string_view sequence) {
  if (sequence.size() == 1) {
    const char c = sequence[0];
    return is_binary(c) || c == '\r' || c == '\f' || c == '\v';
  }
  return sequence[0] == '\xc2' && static_cast<unsigned char>(sequence[1]) < 0xa0;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const std::string_view sequence = text.substr(0, length == 0 ? 1 : length);
    if (length != 0 && !is_control(sequence))
      shown += sequence;
    else
      for (const char c : sequence)
        shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    text.remove_prefix(sequence.size());
  }
  return shown;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

}  // namespace orrery
