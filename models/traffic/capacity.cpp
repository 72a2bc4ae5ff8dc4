// SPDX-License-Identifier: Apache-2.0
#include "capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "orrery/math.h"

namespace traffic {
namespace {

constexpr double kPlaceholder = 1;
constexpr double kBureauOfPublicRoads = 0.15;
/// No road carries less or more: then B and power mean something else.
constexpr double kLeast_per_hour = 10, kMost_per_hour = 1e6;

double derived(const TntpNetwork& network, const TntpLink& link) {
  if (link.b == 0) return std::numeric_limits<double>::infinity();
  const double capacity = link.b > 0 && link.power > 0
                              ? orrery::math::pow(link.b / kBureauOfPublicRoads, -1 / link.power)
                              : 0;
  if (capacity >= kLeast_per_hour && capacity <= kMost_per_hour) return capacity;
  const std::string why = capacity > 0
                              ? fmt::format("(B / 0.15)^(-1/power) is {:.3g} an hour", capacity)
                              : "both must be above 0 for that";
  refuse_line(network.path, link.line,
              fmt::format("the capacity of every link of this file is 1, which must stand for "
                          "something else, and B = {:.6g} with power {:.6g} does not tell what: "
                          "{}; write the capacities into the third column",
                          link.b, link.power, why));
}

std::string note_of(const TntpNetwork& network, const std::vector<double>& capacities) {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  std::size_t free = 0;
  for (const double capacity : capacities) {
    if (std::isinf(capacity)) {
      ++free;
      continue;
    }
    least = std::min(least, capacity);
    most = std::max(most, capacity);
  }
  std::string text = network.path +
                     ": the capacity of every link is 1, so it was derived from B "
                     "and power";
  if (most > 0)
    text +=
        fmt::format(" as (B / 0.15)^(-1/power): {:.0f} to {:.0f} vehicles per hour", least, most);
  if (free > 0)
    text += fmt::format("; on {} of {} links B is 0 and nobody waits", free, capacities.size());
  return text;
}

}  // namespace

Capacities capacities_of(const TntpNetwork& network) {
  Capacities result;
  const bool hidden =
      std::all_of(network.links.begin(), network.links.end(),
                  [](const TntpLink& link) { return link.capacity == kPlaceholder; });
  for (const TntpLink& link : network.links)
    result.per_hour.push_back(hidden ? derived(network, link) : link.capacity);
  if (hidden) result.note = note_of(network, result.per_hour);
  return result;
}

}  // namespace traffic
