// SPDX-License-Identifier: Apache-2.0
#include "advise/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "observe/number_text.h"
#include "observe/progress.h"

namespace orrery::advise {
namespace {

constexpr unsigned kBarWidth = 20;
constexpr double kLineSeconds = 2;  ///< between two lines, if the line is not rewritten

}  // namespace

double Status::seconds() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

void Status::show(const std::string& what) {
  if (quiet_) return;
  if (!terminal_.interactive) {
    if (seconds() < next_line_) return;
    next_line_ = seconds() + kLineSeconds;
    fmt::print(stderr, "orrery: {:.0f} s of {}: {}\n", seconds(), span_text(budget_), what);
    return;
  }
  const double share = std::min(1.0, seconds() / budget_);
  std::string line = fmt::format("{:3.0f} %  {}  {}", share * 100,
                                 bar_text(share, kBarWidth, terminal_.utf8), what);
  if (terminal_.width > 0 && display_width(line) >= terminal_.width) line = what;
  const std::size_t width = display_width(line);
  fmt::print(stderr, "\r{}{}", line, std::string(width_ > width ? width_ - width : 0, ' '));
  std::fflush(stderr);
  width_ = width;
}

void Status::clear() {
  if (width_ > 0) fmt::print(stderr, "\r{}\r", std::string(width_, ' '));
  width_ = 0;
}

}  // namespace orrery::advise
