// SPDX-License-Identifier: Apache-2.0
#include "core/duration_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "core/format_into.h"
#include "core/text.h"

namespace orrery {
namespace {

struct Unit {
  std::string_view name;
  double seconds;
};
constexpr std::array<Unit, 7> kUnits = {{{"d", 86400.0},
                                         {"h", 3600.0},
                                         {"min", 60.0},
                                         {"s", 1.0},
                                         {"ms", 1e-3},
                                         {"us", 1e-6},
                                         {"ns", 1e-9}}};

/// Other ways to write a unit, besides upper case.
struct Spelling {
  std::string_view written, name;
};
constexpr Spelling kSpellings[] = {
    {"day", "d"},          {"days", "d"},          {"hr", "h"},       {"hrs", "h"},
    {"hour", "h"},         {"hours", "h"},         {"m", "min"},      {"mins", "min"},
    {"minute", "min"},     {"minutes", "min"},     {"sec", "s"},      {"secs", "s"},
    {"second", "s"},       {"seconds", "s"},       {"msec", "ms"},    {"msecs", "ms"},
    {"millisecond", "ms"}, {"milliseconds", "ms"}, {"usec", "us"},    {"usecs", "us"},
    {"microsecond", "us"}, {"microseconds", "us"}, {"nsec", "ns"},    {"nsecs", "ns"},
    {"nanosecond", "ns"},  {"nanoseconds", "ns"},  {"\u00b5s", "us"},  // the micro sign
    {"\u03bcs", "us"},                                                 // the Greek letter
};

/// Parses "5 ticks" exactly: a double would round large counts.
std::optional<Duration> parse_ticks(std::string_view text) {
  std::int64_t ticks = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ticks);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const std::string_view name : {" ticks", "ticks", " tick", "tick"})
    if (unit == name) return Duration::from_ticks(ticks);
  return std::nullopt;
}

std::optional<double> seconds_of_unit(std::string_view word, double tick_seconds) {
  std::string name = lower_case(word);
  if (name == "ticks" || name == "tick") return tick_seconds;
  for (const Spelling& spelling : kSpellings)
    if (name == spelling.written) name = spelling.name;
  for (const Unit& unit : kUnits)
    if (name == unit.name) return unit.seconds;
  return std::nullopt;
}

void skip_spaces(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
}

/// Removes a number from the front of `text`.
std::optional<double> take_number(std::string_view& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

std::string_view take_unit(std::string_view& text) {
  const std::string_view unit = text.substr(0, text.find_first_of(" +-.0123456789"));
  text.remove_prefix(unit.size());
  return unit;
}

/// Adds number * unit to `sum`; false if the result is beyond the clock's range.
bool add(std::int64_t& sum, double number, double unit_seconds, double tick_seconds) {
  const double ticks = std::round(number * (unit_seconds / tick_seconds));
  return std::fabs(ticks) < 9.2e18 &&
         !__builtin_add_overflow(sum, static_cast<std::int64_t>(ticks), &sum);
}

}  // namespace

std::optional<Duration> parse_duration(std::string_view text, double tick_seconds) {
  if (const auto ticks = parse_ticks(text)) return ticks;
  const double sign = text.starts_with('-') ? -1 : 1;
  if (sign < 0) text.remove_prefix(1);
  std::int64_t sum = 0;
  double last_unit = std::numeric_limits<double>::infinity();
  do {
    if (text.starts_with('-')) return std::nullopt;
    const auto number = take_number(text);
    if (!number) return std::nullopt;
    skip_spaces(text);
    const std::string_view word = take_unit(text);
    const bool alone = std::isinf(last_unit) && text.empty();
    const auto unit =
        word.empty() && alone ? std::optional(1.0) : seconds_of_unit(word, tick_seconds);
    if (!unit || *unit >= last_unit || !add(sum, sign * *number, *unit, tick_seconds))
      return std::nullopt;
    last_unit = *unit;
    skip_spaces(text);
  } while (!text.empty());
  return Duration::from_ticks(sum);
}

std::string_view duration_text(Duration duration, double tick_seconds,
                               std::span<char, kDurationTextBytes> out) {
  const double seconds = static_cast<double>(duration.ticks()) * tick_seconds;
  const auto put = [&out](auto format, const auto&... parts) {
    return std::string_view(out.data(),
                            format_into(out.data(), kDurationTextBytes, format, parts...));
  };
  if (duration.ticks() == 0) return "0 s";
  for (const Unit& unit : kUnits) {
    const double number = seconds / unit.seconds;
    if (std::fabs(number) < 1.0) continue;
    const std::string_view text = put(FMT_STRING("{:.6g} {}"), number, unit.name);
    if (parse_duration(text, tick_seconds) == duration) return text;
  }
  for (const Unit& unit : kUnits) {
    if (std::fabs(seconds) < unit.seconds) continue;
    const std::string_view text = put(FMT_STRING("{:.15g} {}"), seconds / unit.seconds, unit.name);
    if (parse_duration(text, tick_seconds) == duration) return text;
  }
  return put(FMT_STRING("{} ticks"), duration.ticks());
}

std::string duration_text(Duration duration, double tick_seconds) {
  std::array<char, kDurationTextBytes> text;
  return std::string(duration_text(duration, tick_seconds, text));
}

}  // namespace orrery
