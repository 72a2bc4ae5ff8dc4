// SPDX-License-Identifier: Apache-2.0
#include "cli/roff.h"

#include <fmt/format.h>

#include <sstream>

namespace orrery::cli {
namespace {

std::string_view escaped(char c) {
  switch (c) {
    case '\\':
      return "\\e";
    case '-':
      return "\\-";
    case '\'':
      return "\\(aq";
    case '`':
      return "\\(ga";
    case '^':
      return "\\(ha";
    case '~':
      return "\\(ti";
    default:
      return {};
  }
}

}  // namespace

std::string roff(std::string_view text) {
  std::string written;
  bool begins = true;
  for (const char c : text) {
    if (begins && c == '.') written += "\\&";
    const std::string_view escape = escaped(c);
    if (escape.empty()) {
      written += c;
    } else {
      written += escape;
    }
    begins = c == '\n';
  }
  return written;
}

std::string roff_bold(std::string_view text) {
  return fmt::format("\\fB{}\\fR", roff(text));
}

std::string roff_italic(std::string_view text) {
  return fmt::format("\\fI{}\\fR", roff(text));
}

std::string roff_lines(std::string_view text) {
  return fmt::format(".PP\n.RS 4\n.EX\n{}\n.EE\n.RE\n", roff(text));
}

std::string roff_prose(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::string written, kept;
  bool begins = true;
  const auto put_kept = [&] {
    if (!kept.empty()) written += roff_lines(std::string_view(kept).substr(0, kept.size() - 1));
    kept.clear();
  };
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  ")) {
      kept += line.substr(2) + "\n";
      begins = true;
      continue;
    }
    put_kept();
    if (!line.empty()) written += (begins ? ".PP\n" : "") + roff(line) + "\n";
    begins = line.empty();
  }
  put_kept();
  return written;
}

std::string roff_entry(std::string_view term, std::string_view meaning) {
  return fmt::format(".TP\n{}\n{}\n", term, roff(meaning));
}

std::string roff_section(std::string_view heading) {
  return fmt::format(".SH {}\n.nh\n", roff(heading));
}

std::string roff_subsection(std::string_view heading) {
  return fmt::format(".SS {}\n.nh\n", roff(heading));
}

}  // namespace orrery::cli
