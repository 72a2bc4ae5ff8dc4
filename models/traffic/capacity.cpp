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
/// Plausible capacities. Outside this range B and power cannot have the assumed meaning.
constexpr double kLeast_per_hour = 10, kMost_per_hour = 1e6;

/// Capacity of a link whose third column is 0.
double of_zero(const TntpLink& link) {
  return link.b == 0 ? std::numeric_limits<double>::infinity() : 0;
}

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
    if (std::isinf(capacity)) ++free;
    if (std::isinf(capacity) || capacity == 0) continue;
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

void note_zeros(const TntpNetwork& network, std::vector<std::string>& notes) {
  std::size_t closed = 0, free = 0;
  std::uint32_t line = 0;
  for (const TntpLink& link : network.links) {
    if (link.capacity != 0) continue;
    if (of_zero(link) == 0 && closed++ == 0) line = link.line;
    if (of_zero(link) != 0) ++free;
  }
  if (closed > 0)
    notes.push_back(
        fmt::format("{}:{}: the capacity is 0, as on {} of {} links: nobody can pass, and they are "
                    "left out",
                    network.path, line, closed, network.links.size()));
  if (free > 0)
    notes.push_back(fmt::format("{}: on {} of {} links capacity and B are 0, and nobody waits",
                                network.path, free, network.links.size()));
}

}  // namespace

Capacities capacities_of(const TntpNetwork& network) {
  Capacities result;
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const TntpLink& link : network.links) {
    if (link.capacity == 0) continue;
    least = std::min(least, link.capacity);
    most = std::max(most, link.capacity);
  }
  const bool hidden = least == kPlaceholder && most == kPlaceholder;
  for (const TntpLink& link : network.links) {
    if (link.capacity == 0)
      result.per_hour.push_back(of_zero(link));
    else
      result.per_hour.push_back(hidden ? derived(network, link) : link.capacity);
  }
  if (hidden) result.notes.push_back(note_of(network, result.per_hour));
  note_zeros(network, result.notes);
  return result;
}

}  // namespace traffic
