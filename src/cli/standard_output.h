// SPDX-License-Identifier: Apache-2.0
//
// Standard output for results: a failed write is an error like any other, not an exit code 0
// without results.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace orrery::cli {

/// Opens /dev/null for standard streams that are closed, so that no file gets their numbers. Call
/// it before any file is opened.
void hold_standard_streams();

/// Throws UsageError if standard output was closed from the start. Call it before a run, not after
/// it.
void require_standard_output();

/// Throws UsageError if the text cannot be written.
void write_out(std::string_view text);
/// Writes buffered text, too. The last call of a command.
void flush_out();

/// Prints an error behind the output so far; returns `code`.
int refuse(int code, const std::string& sentence);

template <class... Parts>
void print_out(fmt::format_string<Parts...> format, Parts&&... parts) {
  write_out(fmt::format(format, std::forward<Parts>(parts)...));
}

}  // namespace orrery::cli
