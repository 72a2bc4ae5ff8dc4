// SPDX-License-Identifier: Apache-2.0
//
// The lines of a config file: `KEY = VALUE`, the section `[set]`, comments behind '#', and lines
// that begin with ';'. A value is text in quotes (without escapes), a word, several of these with
// commas between them, or a list in brackets, which may go over lines: the common part of TOML and
// INI.
//
// Any other line is refused with its number, since an option must not silently keep its default
// because its line is damaged.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::cli {

struct ConfigEntry {
  bool is_parameter = false;  ///< the entry stands in [set]
  std::string key;
  std::vector<std::string> values;  ///< at least one
  std::size_t line = 0;
};

/// Without blanks at both ends.
std::string_view trimmed(std::string_view text);

/// Throws UsageError: "config file 'PATH', line 7: ...".
[[noreturn]] void refuse_config(const std::string& path, std::size_t line, const std::string& what);

/// Throws UsageError for a line that is refused, a key that is given twice, and an empty file.
std::vector<ConfigEntry> read_config(const std::string& path, std::string_view text);

}  // namespace orrery::cli
