// SPDX-License-Identifier: Apache-2.0
#include "study/study_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "core/text.h"
#include "output/number_text.h"
#include "output/progress.h"

namespace orrery::study {
namespace {

constexpr auto kTerminalPeriod = std::chrono::milliseconds(200);
constexpr auto kLogPeriod = std::chrono::seconds(5);
constexpr unsigned kBarWidth = 20;

std::string left_text(const StudySample& sample) {
  const std::uint64_t made = sample.done - std::min(sample.done, sample.done_before);
  const std::uint64_t over = sample.done + sample.failed;
  if (made == 0 || sample.total <= over) return "";
  const double seconds =
      sample.seconds / static_cast<double>(made) * static_cast<double>(sample.total - over);
  if (seconds < 1) return "  <1 s left";
  if (seconds < 59.5) return fmt::format("  {:.0f} s left", seconds);
  return "  " + span_text(seconds) + " left";
}

}  // namespace

std::string progress_line(const StudySample& sample, const Terminal& terminal) {
  const double share =
      sample.total == 0 ? 0 : static_cast<double>(sample.done) / static_cast<double>(sample.total);
  std::string rest = fmt::format("{} of {} runs", grouped(sample.done), grouped(sample.total));
  if (sample.failed > 0) rest += fmt::format("  {} failed", grouped(sample.failed));
  rest += fmt::format("  {} running{}", sample.running, left_text(sample));
  const std::string percent = fmt::format("{:3.0f} %  ", share * 100);
  const std::size_t width = percent.size() + kBarWidth + 2 + rest.size();
  if (terminal.interactive && terminal.width > width)
    return percent + bar_text(share, kBarWidth, terminal.utf8) + "  " + rest;
  std::string line = percent + rest;
  if (terminal.width > 0 && line.size() >= terminal.width) line.resize(terminal.width - 1);
  return line;
}

StudyProgress::StudyProgress(bool quiet) : quiet_(quiet) {
  if (!line_.terminal().interactive) next_ += kLogPeriod;
}

void StudyProgress::show(StudySample sample) {
  const auto now = Clock::now();
  if (quiet_ || now < next_) return;
  next_ = now;
  next_ += line_.terminal().interactive ? Clock::duration(kTerminalPeriod) : kLogPeriod;
  sample.seconds = std::chrono::duration<double>(now - begin_).count();
  line_.show(progress_line(sample, line_.terminal()));
}

void StudyProgress::say(const std::string& line) {
  clear();
  fmt::print(stderr, "orrery: {}\n", printable(line));
}

}  // namespace orrery::study
