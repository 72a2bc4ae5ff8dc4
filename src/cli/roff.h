// SPDX-License-Identifier: Apache-2.0
//
// Texts in the language of man(7), in which a line that begins with a dot is a request and a "-" is
// not the one of options.
#pragma once

#include <string>
#include <string_view>

namespace orrery::cli {

/// So that it is shown as it is written.
std::string roff(std::string_view text);
std::string roff_bold(std::string_view text);
std::string roff_italic(std::string_view text);

/// Lines that begin with two blanks stay lines; the rest is filled, and empty lines part
/// paragraphs.
std::string roff_prose(std::string_view text);
/// Lines that stay as they are.
std::string roff_lines(std::string_view text);
/// A term, already in roff, with what it means.
std::string roff_entry(std::string_view term, std::string_view meaning);
/// Headings. Without hyphenation below them, for names of programs and options are not to be
/// parted; each heading would switch it on again.
std::string roff_section(std::string_view heading);
std::string roff_subsection(std::string_view heading);

}  // namespace orrery::cli
