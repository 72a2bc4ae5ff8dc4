// SPDX-License-Identifier: Apache-2.0
#include "advise/status.h"

#include <fmt/format.h>

#include <algorithm>

#include "output/number_text.h"
#include "output/progress.h"

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
  const Terminal& terminal = line_.terminal();
  if (!terminal.interactive) {
    if (seconds() < next_line_) return;
    next_line_ = seconds() + kLineSeconds;
    return line_.show(fmt::format("{:.0f} s of {}: {}", seconds(), span_text(budget_), what));
  }
  const double share = std::min(1.0, seconds() / budget_);
  std::string line = fmt::format("{:3.0f} %  {}  {}", share * 100,
                                 bar_text(share, kBarWidth, terminal.utf8), what);
  if (terminal.width > 0 && display_width(line) >= terminal.width) line = what;
  line_.show(line);
}

}  // namespace orrery::advise
