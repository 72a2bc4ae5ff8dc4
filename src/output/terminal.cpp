// SPDX-License-Identifier: Apache-2.0
#include "output/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace orrery {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

/// The first of the three variables that is set decides, as in setlocale(3).
bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = environment(name);
    if (value.empty()) continue;
    std::string upper(value);
    std::transform(upper.begin(), upper.end(), upper.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return upper.find("UTF-8") != std::string::npos || upper.find("UTF8") != std::string::npos;
  }
  return false;
}

unsigned columns_of(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

}  // namespace

Terminal Terminal::of(int descriptor) {
  Terminal terminal;
  const std::string_view kind = environment("TERM");
  terminal.interactive = isatty(descriptor) == 1 && !kind.empty() && kind != "dumb";
  terminal.colour = terminal.interactive && environment("NO_COLOR").empty();
  terminal.utf8 = locale_is_utf8();
  terminal.width = isatty(descriptor) == 1 ? columns_of(descriptor) : 0;
  return terminal;
}

std::string Terminal::bold(std::string_view text) const {
  return colour ? "\x1b[1m" + std::string(text) + "\x1b[0m" : std::string(text);
}

std::string Terminal::faint(std::string_view text) const {
  return colour ? "\x1b[2m" + std::string(text) + "\x1b[0m" : std::string(text);
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

}  // namespace orrery
