// SPDX-License-Identifier: Apache-2.0
//
// The values that a parameter takes in a study, as they are written: "10..50:10", "csma,aloha",
// "0.1..0.5:0.1", "100ms..500ms:100ms". The numbers of a range are counted in decimal digits, not
// in binary ones, so that the third of 0.1..0.5:0.1 is 0.3 and not 0.30000000000000004.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery::study {

inline constexpr std::uint64_t kMostValues = 100'000;  ///< of a range; more are a slip

struct Axis {
  std::string name;
  std::vector<std::string> values;
};

/// Values between commas, each a text or a range FIRST..LAST:STEP; without a step it is 1. What
/// does not begin with a number is no range ("../map.csv"). Throws UsageError that says what is
/// wrong with `text`; whoever knows where it stands puts that in front.
std::vector<std::string> expand_values(const std::string& text);

/// Seeds: whole numbers and ranges, none twice. Throws UsageError, as above.
std::vector<std::uint64_t> expand_seeds(const std::string& text);

/// The number that a value begins with and the unit behind it ("250", "ms"); whether it is such.
struct Quantity {
  double number = 0;
  std::string unit;
};
bool parse_quantity(const std::string& text, Quantity& into);

}  // namespace orrery::study
