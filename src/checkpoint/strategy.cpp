// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/strategy.h"

#include <charconv>
#include <string>

#include "orrery/error.h"

namespace orrery::checkpoint {
namespace {

struct Entry {
  std::string_view text;
  Strategy::Name name;
};
constexpr Entry kEntries[] = {{"auto", Strategy::Name::automatic},
                              {"copy", Strategy::Name::copy},
                              {"adaptive", Strategy::Name::adaptive},
                              {"incremental", Strategy::Name::incremental},
                              {"reverse", Strategy::Name::reverse}};
constexpr std::string_view kPeriodic = "periodic:";

}  // namespace

Strategy Strategy::parse(std::string_view text) {
  for (const Entry& entry : kEntries)
    if (text == entry.text) return {entry.name, 0};
  if (text.starts_with(kPeriodic)) {
    const std::string_view number = text.substr(kPeriodic.size());
    std::uint32_t events = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), events);
    if (error == std::errc{} && end == number.data() + number.size() && events >= 1 &&
        events <= Interval::kLongest)
      return {Name::periodic, events};
  }
  throw UsageError("there is no checkpoint strategy '" + std::string(text) +
                   "'; strategies: " + names());
}

std::string Strategy::names() {
  std::string all;
  for (const Entry& entry : kEntries) all += std::string(entry.text) + ", ";
  return all + std::string(kPeriodic) + "N with N from 1 to " + std::to_string(Interval::kLongest);
}

Interval Strategy::interval() const {
  switch (name) {
    case Name::copy:
      return Interval::fixed(1);
    case Name::periodic:
      return Interval::fixed(events);
    default:
      return Interval::automatic();
  }
}

Kind Strategy::kind() const {
  if (name == Name::incremental) return Kind::delta;
  return name == Name::reverse ? Kind::reverse : Kind::image;
}

bool Strategy::every_lp() const {
  return name == Name::adaptive || name == Name::incremental || name == Name::reverse;
}

}  // namespace orrery::checkpoint
