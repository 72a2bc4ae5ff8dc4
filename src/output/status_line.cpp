// SPDX-License-Identifier: Apache-2.0
#include "output/status_line.h"

namespace orrery {
namespace {

constexpr std::size_t kEchoWidth = 2;  // the terminal may have echoed ^C

}  // namespace

void StatusLine::show(const std::string& line) {
  if (terminal_.interactive)
    rewrite(line);
  else
    write_stderr("orrery: " + line + "\n");
}

void StatusLine::leave(const std::string& line) {
  if (!terminal_.interactive) return show(line);
  width_ += kEchoWidth;
  rewrite(line);
  write_stderr("\n");
  width_ = 0;
}

void StatusLine::clear() {
  if (width_ > 0) rewrite("");
}

/// Spaces cover a longer line, so no escape code is needed.
void StatusLine::rewrite(const std::string& line) {
  const std::size_t width = display_width(line);
  const std::string cover(width_ > width ? width_ - width : 0, ' ');
  write_stderr("\r" + line + cover + (line.empty() ? "\r" : ""));
  width_ = width;
}

void write_stderr(const std::string& text) {
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

}  // namespace orrery
