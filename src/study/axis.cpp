// SPDX-License-Identifier: Apache-2.0
#include "study/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string_view>

#include "orrery/error.h"

namespace orrery::study {
namespace {

constexpr std::string_view kDots = "..";
constexpr unsigned kMostDigits = 15;  // a 64-bit integer holds the sum of two such numbers

/// digits * 10^-decimals, and the unit.
struct Decimal {
  std::int64_t digits = 0;
  unsigned decimals = 0;
  std::string unit;
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Parses a text such as "-12.50ms"; nothing for other texts, or for more than kMostDigits digits.
std::optional<Decimal> parse_decimal(std::string_view text) {
  Decimal result;
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  unsigned digits = 0;
  bool behind_point = false;
  std::size_t at = 0;
  for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !behind_point)); ++at) {
    if (text[at] == '.') {
      behind_point = true;
      continue;
    }
    if (++digits > kMostDigits) return std::nullopt;
    result.digits = 10 * result.digits + (text[at] - '0');
    if (behind_point) ++result.decimals;
  }
  if (digits == 0) return std::nullopt;
  if (is_negative) result.digits = -result.digits;
  text.remove_prefix(at);
  const bool is_unit = std::none_of(text.begin(), text.end(), is_digit) &&
                       text.find_first_of(".:") == std::string_view::npos;
  if (!is_unit) return std::nullopt;
  result.unit = text;
  return result;
}

std::optional<std::int64_t> with_decimals(const Decimal& number, unsigned decimals) {
  std::int64_t value = number.digits;
  for (unsigned i = number.decimals; i < decimals; ++i)
    if (__builtin_mul_overflow(value, 10, &value)) return std::nullopt;
  return value;
}

/// The number without zeros at the end of its fraction.
std::string decimal_text(std::int64_t value, unsigned decimals, const std::string& unit) {
  std::string digits = std::to_string(value < 0 ? -value : value);
  if (digits.size() <= decimals) digits.insert(0, decimals + 1 - digits.size(), '0');
  if (decimals > 0) {
    digits.insert(digits.size() - decimals, 1, '.');
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') digits.pop_back();
  }
  return (value < 0 ? "-" : "") + digits + unit;
}

[[noreturn]] void refuse_range(std::string_view text, std::string_view why) {
  throw UsageError(fmt::format(
      "'{}' is no range: {}; FIRST..LAST:STEP is expected, such as 10..50:10 or 100ms..500ms:100ms",
      text, why));
}

struct Range {
  Decimal first, last, step;
  std::string_view text;
};

Decimal part(std::string_view whole, std::string_view text) {
  const auto number = parse_decimal(text);
  if (!number) refuse_range(whole, fmt::format("'{}' is no number", text));
  return *number;
}

Range parse_range(std::string_view text, std::size_t dots) {
  Range range{{}, {}, {1, 0, ""}, text};
  range.first = part(text, text.substr(0, dots));
  const std::string_view rest = text.substr(dots + kDots.size());
  const std::size_t colon = rest.find(':');
  range.last = part(text, rest.substr(0, colon));
  range.step.unit = range.first.unit;
  if (colon != std::string_view::npos) range.step = part(text, rest.substr(colon + 1));
  if (range.last.unit != range.first.unit || range.step.unit != range.first.unit)
    refuse_range(text, "its numbers have different units");
  return range;
}

void append_range(const Range& range, std::vector<std::string>& values) {
  const unsigned decimals =
      std::max({range.first.decimals, range.last.decimals, range.step.decimals});
  const auto first = with_decimals(range.first, decimals);
  const auto last = with_decimals(range.last, decimals);
  const auto step = with_decimals(range.step, decimals);
  if (!first || !last || !step) refuse_range(range.text, "its numbers have too many digits");
  if (*step <= 0) refuse_range(range.text, "its step is not above 0");
  if (*last < *first) refuse_range(range.text, "its last value is below the first");
  if (static_cast<std::uint64_t>((*last - *first) / *step) >= kMostValues)
    refuse_range(range.text, fmt::format("it has more than {} values", kMostValues));
  for (std::int64_t value = *first; value <= *last; value += *step)
    values.push_back(decimal_text(value, decimals, range.first.unit));
}

std::vector<std::string_view> split(const std::string& text) {
  std::vector<std::string_view> parts;
  std::string_view rest = text;
  for (;;) {
    const std::size_t comma = rest.find(',');
    parts.push_back(rest.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    rest.remove_prefix(comma + 1);
  }
}

/// The place of the dots of a range; npos if the text does not begin with a number.
std::size_t dots_of_range(std::string_view text) {
  const std::size_t dots = text.find(kDots);
  if (dots == std::string_view::npos || dots == 0) return std::string_view::npos;
  return parse_decimal(text.substr(0, dots)) ? dots : std::string_view::npos;
}

std::uint64_t read_seed(const std::string& text) {
  std::uint64_t seed = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, seed);
  if (error != std::errc() || stop != end) {
    throw UsageError(fmt::format(
        "'{}' is no seed; whole numbers from 0 to {} and ranges are expected, such as 1..20", text,
        std::numeric_limits<std::uint64_t>::max()));
  }
  return seed;
}

}  // namespace

std::vector<std::string> expand_values(const std::string& text) {
  std::vector<std::string> values;
  for (const std::string_view one : split(text)) {
    if (one.empty())
      throw UsageError(fmt::format("there is a comma too many or a value missing in '{}'", text));
    const std::size_t dots = dots_of_range(one);
    if (dots == std::string_view::npos)
      values.emplace_back(one);
    else
      append_range(parse_range(one, dots), values);
  }
  std::set<std::string_view> seen;
  for (const std::string& value : values)
    if (!seen.insert(value).second)
      throw UsageError(fmt::format("the value '{}' is there twice in '{}'", value, text));
  return values;
}

std::vector<std::uint64_t> expand_seeds(const std::string& text) {
  std::vector<std::uint64_t> seeds;
  for (const std::string& value : expand_values(text)) seeds.push_back(read_seed(value));
  std::set<std::uint64_t> seen;
  for (const std::uint64_t seed : seeds)
    if (!seen.insert(seed).second)
      throw UsageError(fmt::format("the seed {} is there twice in '{}'", seed, text));
  return seeds;
}

bool parse_quantity(const std::string& text, Quantity& into) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, into.number);
  if (error != std::errc() || !std::isfinite(into.number)) return false;
  into.unit.assign(stop, end);
  into.unit.erase(0, into.unit.find_first_not_of(' '));
  return true;
}

}  // namespace orrery::study
