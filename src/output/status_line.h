// SPDX-License-Identifier: Apache-2.0
//
// The last line on standard error, which shows what goes on: rewritten on a terminal, else a new
// line each time. Runs, studies, comparisons and advice use it.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>

#include "output/terminal.h"

namespace orrery {

class StatusLine {
 public:
  StatusLine() = default;
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  const Terminal& terminal() const { return terminal_; }
  /// Replaces the line on a terminal; elsewhere prints it behind "orrery: ".
  void show(const std::string& line);
  /// Shows a line that later lines do not replace.
  void leave(const std::string& line);
  /// Removes the line, before other output is printed.
  void clear();

 private:
  void rewrite(const std::string& line);

  const Terminal terminal_ = Terminal::of(STDERR_FILENO);
  std::size_t width_ = 0;  ///< of the line that is shown
};

/// Ignores errors, which cannot be reported if standard error is closed.
void write_stderr(const std::string& text);

}  // namespace orrery
