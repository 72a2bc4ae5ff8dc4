// SPDX-License-Identifier: Apache-2.0
#include "output/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "output/number_text.h"

namespace orrery {
namespace {

constexpr double kMemorySeconds = 3;  // time constant of the rates' exponential average
constexpr unsigned kWidestBar = 30, kNarrowestBar = 6;

}  // namespace

void ProgressMeter::add(const ProgressSample& sample) {
  const double step = sample.wall_seconds - last_.wall_seconds;
  if (step <= 0) return;
  const auto events = static_cast<double>(sample.committed - last_.committed);
  const auto executed = static_cast<double>(sample.executed - last_.executed);
  // The first sample has full weight; with an average of zero every run would seem to start slowly.
  const double weight = started_ ? 1 - std::exp(-step / kMemorySeconds) : 1;
  const auto blend = [weight](double& value, double now) { value += weight * (now - value); };
  blend(events_per_second_, events / step);
  blend(simulated_per_second_, (sample.simulated_seconds - last_.simulated_seconds) / step);
  if (executed > 0) blend(efficiency_, std::min(1.0, events / executed));
  started_ = started_ || sample.committed > 0;
  last_ = sample;
}

double ProgressMeter::share() const {
  if (!(horizon_seconds_ > 0)) return 0;
  return std::clamp(last_.simulated_seconds / horizon_seconds_, 0.0, 1.0);
}

std::optional<double> ProgressMeter::seconds_left() const {
  if (!(simulated_per_second_ > 0)) return std::nullopt;
  return (horizon_seconds_ - last_.simulated_seconds) / simulated_per_second_;
}

std::string ProgressMeter::left_text() const {
  const std::optional<double> seconds = seconds_left();
  if (!seconds) return "";
  if (*seconds < 1) return "<1 s left";
  // Tenths of a second are noise in a forecast.
  if (*seconds < 59.5) return fmt::format("{:.0f} s left", *seconds);
  return span_text(*seconds) + " left";
}

std::string ProgressMeter::percent_text() const {
  return fmt::format("{:3.0f} %", std::floor(share() * 100));
}

std::string ProgressMeter::line_about(const std::string& where, double seconds,
                                      const Terminal& terminal) const {
  std::string line =
      fmt::format("{}  {}: running for {:.0f} s", percent_text(), where, std::floor(seconds));
  if (terminal.width > 0 && line.size() >= terminal.width) line.resize(terminal.width - 1);
  return line;
}

std::string ProgressMeter::line(const Terminal& terminal) const {
  const std::string percent = percent_text();
  // Beside an engine's name, efficiency is shown only if it is below 100 %.
  const bool tells_efficiency = last_.engine.empty() || efficiency_ < 0.995;
  const std::string efficiency =
      tells_efficiency ? fmt::format("  eff {:.0f} %", efficiency_ * 100) : "";
  std::string rest =
      fmt::format("{} ev/s  {}{}  {}", short_number(events_per_second_),
                  pace_text(simulated_per_second_), efficiency, bytes_text(last_.memory_bytes));
  if (!last_.engine.empty()) rest = last_.engine + "  " + rest;
  if (const std::string left = left_text(); !left.empty()) rest += "  " + left;
  if (!terminal.interactive) return percent + "  " + rest;
  std::string line = percent + "  " + rest;
  const std::size_t used = display_width(line) + 4;
  if (terminal.width > used + kNarrowestBar) {
    const auto bar = std::min<unsigned>(kWidestBar, terminal.width - static_cast<unsigned>(used));
    line = fmt::format("{}  {}  {}", percent, bar_text(share(), bar, terminal.utf8), rest);
  }
  if (line.size() >= terminal.width && terminal.width > 0 && display_width(line) >= terminal.width)
    line.resize(terminal.width - 1);
  return line;
}

std::string bar_text(double share, unsigned width, bool utf8) {
  static constexpr std::array<const char*, 8> kParts = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<unsigned>(std::floor(share * width * 8));
  const unsigned full = eighths / 8;
  std::string text;
  for (unsigned i = 0; i < full; ++i) text += utf8 ? "█" : "#";
  unsigned used = full;
  if (utf8 && eighths % 8 != 0) text += kParts[eighths % 8], ++used;
  for (; used < width; ++used) text += utf8 ? "·" : ".";
  return text;
}

}  // namespace orrery
