// SPDX-License-Identifier: Apache-2.0
#include "study/precision.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "orrery/error.h"
#include "output/student.h"

namespace orrery::study {

double read_probability(const std::string& what, const std::string& text, const char* example) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !(value > 0 && value < 1)) {
    throw UsageError(
        fmt::format("{} cannot be '{}': a number between 0 and 1 is expected, such as {}", what,
                    text, example));
  }
  return value;
}

PrecisionRule PrecisionRule::parse(const std::string& text, double default_confidence) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw UsageError(fmt::format(
        "--until-precision cannot be '{}': MEASURE=SHARE or MEASURE=SHARE@CONFIDENCE is expected, "
        "such as throughput=0.01@0.95",
        text));
  }
  PrecisionRule rule;
  rule.measure = text.substr(0, equals);
  const std::string rest = text.substr(equals + 1);
  const std::size_t at = rest.find('@');
  rule.share = read_probability("the share of the mean in --until-precision", rest.substr(0, at),
                                "0.05 for +/- 5 %");
  rule.confidence =
      at == std::string::npos
          ? default_confidence
          : read_probability("the confidence in --until-precision", rest.substr(at + 1));
  return rule;
}

double PrecisionRule::share_of(const Estimate& now) {
  return relative_precision(now.half_width.value_or(0), now.mean);
}

double PrecisionRule::excess(const Estimate& now) const {
  return share_of(now) * (1 + 2 / static_cast<double>(now.count)) / share;
}

std::uint64_t PrecisionRule::next_count(const Estimate& now) const {
  if (!now.half_width) return 2 * kLeastReplications;
  const double count = static_cast<double>(now.count);
  const double ratio = excess(now);  // the width falls as 1 / sqrt(count)
  const double wanted = std::min(std::ceil(count * ratio * ratio), 2 * count);
  return std::max(now.count + 1, static_cast<std::uint64_t>(wanted));
}

}  // namespace orrery::study
