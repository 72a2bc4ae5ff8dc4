// SPDX-License-Identifier: Apache-2.0
//
// Texts for manual pages in the language of man(7), where a line that begins with a dot is a
// request and a plain "-" is a hyphen, not the minus sign of options.
#pragma once

#include <string>
#include <string_view>

namespace orrery::cli {

/// Escapes `text` so that man(1) shows the text as written.
std::string roff(std::string_view text);
std::string roff_bold(std::string_view text);
std::string roff_italic(std::string_view text);

/// Lines that begin with two blanks stay lines; all other text is filled, and an empty line begins
/// a new paragraph.
std::string roff_prose(std::string_view text);
/// Lines that are shown as they are, not filled.
std::string roff_lines(std::string_view text);
/// `term` must be roff already; `meaning` is plain text.
std::string roff_entry(std::string_view term, std::string_view meaning);
/// Headings. They switch hyphenation off, so that names of programs and options are not split at a
/// line's end; each heading macro would switch hyphenation on again.
std::string roff_section(std::string_view heading);
std::string roff_subsection(std::string_view heading);

}  // namespace orrery::cli
