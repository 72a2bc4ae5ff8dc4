// SPDX-License-Identifier: Apache-2.0
#include "core/lp_text.h"

#include <fmt/format.h>

#include "core/text.h"

namespace orrery {

std::string mistake_in_name(std::string_view name) {
  if (name.size() > kMostNameBytes)
    return fmt::format("it has {} bytes, and at most {} are possible", name.size(), kMostNameBytes);
  if (name.find_first_of("\t\n") != std::string_view::npos || printable(name) != name)
    return fmt::format("'{}' has a control character, or is not UTF-8", printable(name));
  return "";
}

std::string lp_text(LpId lp, std::string_view name) {
  return "LP " + lp_number_text(lp, name);
}

std::string lp_number_text(LpId lp, std::string_view name) {
  return name.empty() ? fmt::format("{}", lp) : fmt::format("{} ({})", lp, name);
}

}  // namespace orrery
