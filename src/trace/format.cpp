// SPDX-License-Identifier: Apache-2.0
#include "trace/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "orrery/error.h"
#include "run/options/option_forms.h"

namespace orrery::trace {

static_assert(std::size(kNotes) == static_cast<std::size_t>(Note::phase) + 1);

Time read_time(const std::string& flag, const std::string& text, double tick_seconds,
               Time otherwise) {
  if (text.empty()) return otherwise;
  return Time::zero() + option_forms::read_simulated_time({flag, text, tick_seconds});
}

std::string text_of(const std::vector<TraceScope::Range>& lps) {
  if (lps.empty()) return "all";
  std::string text;
  for (const auto& [first, last] : lps) {
    if (!text.empty()) text += ",";
    text += first == last ? std::to_string(first) : fmt::format("{}..{}", first, last);
  }
  return text;
}

std::vector<TraceScope::Range> read_ranges(const std::string& flag, const std::string& text) {
  constexpr std::uint64_t kMost = std::numeric_limits<LpId>::max() - 1;
  const auto number = [&](const std::string& one) {
    return static_cast<LpId>(option_forms::read_count(flag, one, 0, kMost));
  };
  std::vector<TraceScope::Range> ranges;
  for (const std::string& one : option_forms::read_list(flag, text)) {
    const std::size_t dots = one.find("..");
    const LpId first = number(one.substr(0, dots));
    const LpId last = dots == std::string::npos ? first : number(one.substr(dots + 2));
    if (last < first)
      throw UsageError(
          fmt::format("{} cannot be '{}': a range goes from the lower number to the "
                      "higher one, as in 0..3",
                      flag, one));
    ranges.emplace_back(first, last);
  }
  std::sort(ranges.begin(), ranges.end());
  std::vector<TraceScope::Range> apart;
  for (const TraceScope::Range& range : ranges) {
    if (!apart.empty() && range.first <= apart.back().second + 1)
      apart.back().second = std::max(apart.back().second, range.second);
    else
      apart.push_back(range);
  }
  return apart;
}

}  // namespace orrery::trace
