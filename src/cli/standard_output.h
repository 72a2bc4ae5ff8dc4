// SPDX-License-Identifier: Apache-2.0
//
// Standard output, where results go: what cannot be written there is an error like any other, not
// an exit code 0 without results.
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace orrery::cli {

/// Call it before any file is opened. Standard streams that are closed get a place holder, so that
/// no file takes their number.
void hold_standard_streams();

/// Throws UsageError if standard output was closed from the start: before a run, not after it.
void require_standard_output();

/// Throws UsageError if it cannot be written.
void write_out(std::string_view text);
/// What lies in buffers, too. The last call of a command.
void flush_out();

template <class... Parts>
void print_out(fmt::format_string<Parts...> format, Parts&&... parts) {
  write_out(fmt::format(format, std::forward<Parts>(parts)...));
}

}  // namespace orrery::cli
