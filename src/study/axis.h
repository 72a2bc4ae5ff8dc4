// SPDX-License-Identifier: Apache-2.0
//
// The values of a parameter in a study, in the form of the command line: "10..50:10", "csma,aloha",
// "0.1..0.5:0.1", "100ms..500ms:100ms". Ranges are computed in decimal digits, not in binary, so
// that the third value of 0.1..0.5:0.1 is 0.3 and not 0.30000000000000004.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery::study {

inline constexpr std::uint64_t kMostValues = 100'000;  ///< of a range; more are a typing error

struct Axis {
  std::string name;
  std::vector<std::string> values;
};

/// Values between commas, each a text or a range FIRST..LAST:STEP; the default step is 1. A text
/// that does not begin with a number is no range ("../map.csv"). Throws UsageError with the error
/// in `text`; callers add the place of `text`.
std::vector<std::string> expand_values(const std::string& text);

/// Seeds: whole numbers and ranges. Throws UsageError, also for a seed that is given twice.
std::vector<std::uint64_t> expand_seeds(const std::string& text);

/// A number and the unit behind it ("250", "ms"). parse_quantity returns false for other texts.
struct Quantity {
  double number = 0;
  std::string unit;
};
bool parse_quantity(const std::string& text, Quantity& into);

}  // namespace orrery::study
