// SPDX-License-Identifier: Apache-2.0
#include "geography.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace epidemic {

using orrery::Discrete;
using orrery::Duration;
using orrery::LpId;
namespace math = orrery::math;

namespace {
constexpr double kOne = 1;  // for a region without ways, for which nobody draws
}

Geography::Geography(const Square& square, const Travel& travel) {
  const auto side =
      static_cast<std::uint32_t>(std::ceil(std::sqrt(static_cast<double>(square.regions) - 0.5)));
  for (std::uint32_t number = 0; number < square.regions; ++number) {
    regions_.push_back({std::to_string(number), square.spacing_km * (number % side),
                        square.spacing_km * (number / side),
                        std::uint64_t{square.locations} * square.people, square.locations, 0});
  }
  number_lps();
  std::vector<Pair> pairs;
  for (std::uint32_t from = 0; from < regions(); ++from) {
    for (std::uint32_t to = 0; to < regions(); ++to) {
      if (from == to) continue;
      const double x = regions_[from].x - regions_[to].x, y = regions_[from].y - regions_[to].y;
      pairs.push_back({from, to, math::sqrt(math::product(x, x) + math::product(y, y)), 0});
    }
  }
  add_ways(pairs, travel);
}

Geography::Geography(const AirNetwork& network, double scale, std::uint32_t people,
                     const Travel& travel) {
  for (const AirNetwork::Airport& airport : network.airports) {
    const auto residents =
        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(airport.population * scale + 0.5));
    const std::uint64_t locations = std::max<std::uint64_t>(1, (residents + people / 2) / people);
    regions_.push_back({airport.code, airport.longitude, airport.latitude, residents,
                        static_cast<std::uint32_t>(locations), 0});
  }
  number_lps();
  std::vector<Pair> pairs;
  for (const AirNetwork::Route& route : network.routes) {
    pairs.push_back({route.from, route.to, route.distance_km, route.changes});
    pairs.push_back({route.to, route.from, route.distance_km, route.changes});
  }
  add_ways(pairs, travel);
}

void Geography::number_lps() {
  for (std::uint32_t number = 0; number < regions(); ++number) {
    Region& region = regions_[number];
    region.first = lp_count();
    people_before_.push_back(people_);
    people_ += region.people;
    region_of_.insert(region_of_.end(), std::size_t{region.locations} + 1, number);
  }
}

void Geography::add_ways(std::vector<Pair>& pairs, const Travel& travel) {
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
    return a.from != b.from ? a.from < b.from : a.to < b.to;
  });
  for (const Pair& pair : pairs) {
    const double seconds = pair.distance_km / travel.speed_km_h * 3600;
    const Duration shortest =
        (pair.changes + std::int64_t{1}) * travel.overhead + Duration::from_seconds(seconds);
    ways_.push_back({pair.to, 0, shortest});
    shortest_way_ = std::min(shortest_way_, shortest);
    double weight =
        math::pow(static_cast<double>(regions_[pair.to].people), travel.gravity_population) /
        math::pow(pair.distance_km, travel.gravity_distance);
    for (std::uint32_t i = 0; i < pair.changes; ++i) weight *= travel.change_factor;
    shares_.push_back(weight);
  }
  begin_.push_back(0);
  std::size_t end = 0;
  for (std::uint32_t from = 0; from < regions(); ++from) {
    const std::size_t first = end;
    while (end < pairs.size() && pairs[end].from == from) ++end;
    begin_.push_back(static_cast<std::uint32_t>(end));
    const std::span weights(shares_.data() + first, end - first);
    choices_.emplace_back(weights.empty() ? std::span<const double>(&kOne, 1) : weights);
    double sum = 0;
    for (const double weight : weights) sum += weight;
    for (double& weight : weights) weight /= sum;
  }
}

std::string Geography::name_of(LpId lp) const {
  std::string region = regions_[region_of_[lp]].name;
  if (region.front() >= '0' && region.front() <= '9') region = "region" + region;
  return region + "." + (is_office(lp) ? "office" : std::to_string(number_in_region(lp)));
}

std::uint32_t Geography::residents(LpId location) const {
  const Region& region = regions_[region_of_[location]];
  const std::uint64_t evenly = region.people / region.locations;
  const std::uint64_t rest = region.people % region.locations;
  return static_cast<std::uint32_t>(evenly + (number_in_region(location) < rest ? 1 : 0));
}

std::uint64_t Geography::residents_before(LpId location) const {
  const Region& region = regions_[region_of_[location]];
  const std::uint64_t number = number_in_region(location);
  return number * (region.people / region.locations) +
         std::min(number, region.people % region.locations);
}

const Geography::Way& Geography::way(std::uint32_t from, std::uint32_t to) const {
  const auto begin = ways_.begin() + begin_[from], end = ways_.begin() + begin_[from + 1];
  return *std::lower_bound(begin, end, to,
                           [](const Way& way, std::uint32_t wanted) { return way.to < wanted; });
}

}  // namespace epidemic
