// SPDX-License-Identifier: Apache-2.0
#include "output/number_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace orrery {

std::string grouped(std::uint64_t number) {
  std::string digits = fmt::format("{}", number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string number_text(double number) {
  const double size = std::fabs(number);
  if (!std::isfinite(number) || size >= 1e15) return fmt::format("{:.6g}", number);
  if (size < 1000 && number != std::trunc(number)) return fmt::format("{:.6g}", number);
  // Six significant digits, but all digits before the point.
  const int decimals = size < 1e4 ? 2 : size < 1e5 ? 1 : 0;
  std::string digits = fmt::format("{:.{}f}", size, number == std::trunc(number) ? 0 : decimals);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  for (std::size_t at = point; at > 3;) digits.insert(at -= 3, ",");
  if (digits.find('.') != std::string::npos) {
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') digits.pop_back();
  }
  return (number < 0 ? "-" : "") + digits;
}

std::string short_number(double number) {
  static constexpr std::array<std::string_view, 5> kPowers = {"", " k", " M", " G", " T"};
  std::size_t power = 0;
  // 999.5 would print as 1000 in three digits.
  while (std::fabs(number) >= 999.5 && power + 1 < kPowers.size()) number /= 1000, ++power;
  const int decimals = number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
  if (power == 0 && number == std::trunc(number)) return fmt::format("{:.0f}", number);
  return fmt::format("{:.{}f}{}", number, decimals, kPowers[power]);
}

std::string bytes_text(std::uint64_t bytes) {
  static constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  double number = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (number >= 999.5 && unit + 1 < kUnits.size()) number /= 1024, ++unit;
  const int decimals = unit == 0 || number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", number, decimals, kUnits[unit]);
}

std::string span_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 0.9995) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 9.995) return fmt::format("{:.2f} s", seconds);
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  if (!(seconds < 1e12)) return "forever";
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  const std::uint64_t minutes = (whole + 30) / 60;
  if (minutes < 48 * 60) return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
  return fmt::format("{} d {:02} h", minutes / 1440, minutes % 1440 / 60);
}

namespace {

/// The number and the largest unit of time in which it is 1 or more.
std::pair<double, std::string_view> in_time_unit(double seconds) {
  static constexpr std::array<std::pair<double, std::string_view>, 7> kUnits = {
      {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}};
  for (const auto& [size, unit] : kUnits)
    if (seconds >= size) return {seconds / size, unit};
  return {0, "s"};
}

}  // namespace

std::string rounded_time_text(double seconds) {
  const auto [number, unit] = in_time_unit(seconds);
  return fmt::format("{:.4g} {}", number, unit);
}

std::string pace_text(double simulated_seconds_per_second) {
  const auto [number, unit] = in_time_unit(simulated_seconds_per_second);
  return fmt::format("{:.3g} {}/s", number, unit);
}

std::string percent_text(double share) {
  // 99.97 % must not be shown as 100 %.
  if (share < 1 && share > 0.9995) return "99.9 %";
  return fmt::format("{:.1f} %", share * 100);
}

std::string unit_text(const std::string& unit) {
  return unit == "1" ? "" : unit;
}

std::string fingerprint_text(std::uint64_t fingerprint) {
  return fmt::format("0x{:016x}", fingerprint);
}

}  // namespace orrery
