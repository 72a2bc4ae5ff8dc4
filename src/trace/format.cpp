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

std::string text_of(const LpRanges& lps) {
  if (lps.empty()) return "all";
  std::string text;
  for (const auto& [first, last] : lps) {
    if (!text.empty()) text += ",";
    text += first == last ? std::to_string(first) : fmt::format("{}..{}", first, last);
  }
  return text;
}

}  // namespace orrery::trace
