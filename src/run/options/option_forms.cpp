// SPDX-License-Identifier: Apache-2.0
#include "run/options/option_forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/byte_text.h"
#include "core/duration_text.h"
#include "core/model_registry.h"
#include "orrery/error.h"

namespace orrery::option_forms {
namespace {

constexpr const char* kAuto = "auto";

std::size_t read_choice(const OptionText& given, const std::vector<std::string>& words) {
  const auto found = std::find(words.begin(), words.end(), given.text);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  throw UsageError(fmt::format("{} can be {}, not '{}'{}", given.flag, listed(words, " or "),
                               given.text, near_matches(given.text, words)));
}

std::int64_t positive_ticks(const OptionText& given, double tick_seconds, const char* or_else) {
  const auto duration = parse_duration(given.text, tick_seconds);
  if (duration && duration->ticks() > 0) return duration->ticks();
  throw UsageError(
      fmt::format("{} needs a duration above 0 such as 250ms, 100s, 15min or 2h (units: {}){}, not "
                  "'{}'",
                  given.flag, kDurationUnits, or_else, given.text));
}

double read_share(const OptionText& given) {
  if (given.text == kAuto) return -1;
  double share = 0;
  const char* end = given.text.data() + given.text.size();
  const auto [stop, error] = std::from_chars(given.text.data(), end, share);
  if (error == std::errc{} && stop == end && share >= 0 && share <= 1) return share;
  throw UsageError(fmt::format("{} needs a number from 0 to 1 such as 0.75, or 'auto', not '{}'",
                               given.flag, given.text));
}

}  // namespace

std::uint64_t read_count(const std::string& flag, const std::string& text, std::uint64_t minimum,
                         std::uint64_t maximum) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && stop == end && value >= minimum && value <= maximum) return value;
  throw UsageError(
      fmt::format("{} needs a whole number from {} to {}, not '{}'", flag, minimum, maximum, text));
}

Duration read_simulated_time(const OptionText& given, std::string_view hint) {
  const auto time = parse_duration(given.text, given.tick_seconds);
  if (time && *time >= Duration::zero()) return *time;
  throw UsageError(fmt::format(
      "{} needs a simulated time such as 250ms, 100s, 15min or 2h (units: {}), not '{}'{}",
      given.flag, kDurationUnits, given.text, hint));
}

std::vector<std::string> read_list(const std::string& flag, const std::string& text) {
  std::vector<std::string> words;
  if (text.empty()) return words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    if (end == at) {
      throw UsageError(
          fmt::format("{} needs values with one comma between two, not '{}'", flag, text));
    }
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::int64_t read_positive_ticks(const OptionText& text, double tick_seconds) {
  return positive_ticks(text, tick_seconds, "");
}

OptionForm<std::uint64_t> count(std::uint64_t minimum, std::uint64_t maximum) {
  return {.read =
              [=](const OptionText& given) {
                return read_count(given.flag, given.text, minimum, maximum);
              },
          .write = [](std::uint64_t value) { return std::to_string(value); }};
}

OptionForm<std::uint64_t> count_or_auto(std::uint64_t minimum, std::uint64_t maximum) {
  return {.read =
              [=](const OptionText& given) {
                if (given.text == kAuto) return std::uint64_t{0};
                return read_count(given.flag, given.text, minimum, maximum);
              },
          .write =
              [](std::uint64_t value) {
                return value == 0 ? std::string(kAuto) : std::to_string(value);
              }};
}

OptionForm<std::uint64_t> bytes(std::uint64_t minimum, std::optional<std::uint64_t> maximum,
                                std::string example) {
  const std::string least = exact_bytes_text(minimum);
  const std::string range =
      maximum ? "from " + least + " to " + exact_bytes_text(*maximum) : "of at least " + least;
  return {.read =
              [=](const OptionText& given) {
                const auto size = parse_bytes(given.text);
                if (size && *size >= minimum && (!maximum || *size <= *maximum)) return *size;
                throw UsageError(fmt::format("{} needs a size {} {}, not '{}'", given.flag, range,
                                             example, given.text));
              },
          .write = exact_bytes_text};
}

OptionForm<std::int64_t> duration_or_auto(std::optional<double> tick_seconds) {
  return {.read = [=](const OptionText& given) -> std::int64_t {
            if (given.text == kAuto) return 0;
            return positive_ticks(given, tick_seconds.value_or(given.tick_seconds), ", or 'auto'");
          },
          .write =
              [=](std::int64_t ticks) {
                if (ticks == 0) return std::string(kAuto);
                return tick_seconds ? duration_text(Duration::from_ticks(ticks), *tick_seconds)
                                    : std::to_string(ticks) + " ticks";
              }};
}

OptionForm<std::int64_t> wall_time_or_off(std::int64_t least) {
  constexpr double kMicrosecond = 1e-6;
  const auto write = [](std::int64_t ticks) {
    return ticks == 0 ? std::string("off")
                      : duration_text(Duration::from_ticks(ticks), kMicrosecond);
  };
  return {.read = [=](const OptionText& given) -> std::int64_t {
            if (given.text == "off") return 0;
            const auto time = parse_duration(given.text, kMicrosecond);
            if (time && time->ticks() >= least) return time->ticks();
            throw UsageError(
                fmt::format("{} needs a wall-clock time from {} on, such as 500ms or 10s, or "
                            "'off', not '{}'",
                            given.flag, write(least), given.text));
          },
          .write = write};
}

OptionForm<double> share_or_auto() {
  return {
      .read = read_share,
      .write =
          [](double share) { return share < 0 ? std::string(kAuto) : fmt::format("{}", share); },
      .report =
          [](double share) {
            return share < 0 ? OptionValue(std::string(kAuto)) : OptionValue(share);
          }};
}

OptionForm<std::string> choice(std::vector<std::string> words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ", ") + word;
  return {.read = [words = std::move(words)](
                      const OptionText& given) { return words[read_choice(given, words)]; },
          .write = [](const std::string& word) { return word; },
          .choices = list};
}

OptionForm<std::string> checked_text(std::function<void(const std::string&)> check,
                                     std::string choices) {
  return {.read =
              [check = std::move(check)](const OptionText& given) {
                check(given.text);
                return given.text;
              },
          .write = [](const std::string& text) { return text; },
          .choices = std::move(choices)};
}

OptionForm<std::string> any_text() {
  return checked_text([](const std::string&) {}, "");
}

OptionForm<bool> on_or_off() {
  return {.read =
              [](const OptionText& given) {
                return read_choice(given, {"on", "off"}) == 0;
              },
          .write = [](bool on) { return std::string(on ? "on" : "off"); }};
}

OptionForm<bool> off_switch() {
  return {.read =
              [](const OptionText& given) {
                return read_choice(given, {"true", "false"}) != 0;
              },
          .write = [](bool on) { return std::string(on ? "false" : "true"); }};
}

}  // namespace orrery::option_forms
