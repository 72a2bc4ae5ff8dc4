// SPDX-License-Identifier: Apache-2.0
//
// Regions, their locations, the homes of people, and the ways between regions.
//
// The locations of a region and its health office (health_office.h) have consecutive LP numbers,
// the office last. So a placement of LPs in contiguous blocks keeps regions together.
//
// The destination of a trip out of the region follows a gravity model constrained at the origin:
// the number of trips that a region produces is given (A. G. Wilson, "A statistical theory of
// spatial distribution models", Transportation Research 1, 1967). The share of the trips from
// region i that go to region j is proportional to
//
//     people_j ^ gravity_population / distance_ij ^ gravity_distance * change_factor ^ changes_ij
//
// The shares are computed once; drawing a destination takes constant time (alias tables).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "air_network.h"
#include "orrery/orrery.h"

namespace epidemic {

class Geography {
 public:
  struct Travel {
    double speed_km_h = 1;
    orrery::Duration overhead;  ///< for each vehicle of a trip: the way to it, the wait, the exit
    double gravity_population = 1, gravity_distance = 1;
    double change_factor = 1;  ///< factor on the trips of a pair for each change on the way
  };
  struct Square {
    std::uint32_t regions = 1, locations = 1, people = 1;  ///< people of each location
    double spacing_km = 1;
  };
  /// A way to another region.
  struct Way {
    std::uint32_t to = 0;
    std::uint32_t unused = 0;
    orrery::Duration shortest;  ///< no trip is shorter
  };
  struct Region {
    std::string name;
    double x = 0, y = 0;  ///< km, or degrees of longitude and latitude
    std::uint64_t people = 0;
    std::uint32_t locations = 0;
    orrery::LpId first = 0;  ///< its first location
  };

  Geography() = default;
  /// Regions of equal size on the points of a square grid.
  Geography(const Square& square, const Travel& travel);
  /// A region for each airport, with `scale` of its population in locations of `people` each.
  Geography(const AirNetwork& network, double scale, std::uint32_t people, const Travel& travel);

  std::uint32_t regions() const { return static_cast<std::uint32_t>(regions_.size()); }
  const Region& region(std::uint32_t number) const { return regions_[number]; }
  std::uint64_t people() const { return people_; }
  std::uint32_t locations() const { return lp_count() - regions(); }
  orrery::LpId lp_count() const { return static_cast<orrery::LpId>(region_of_.size()); }

  std::string name_of(orrery::LpId lp) const;
  std::uint32_t region_of(orrery::LpId lp) const { return region_of_[lp]; }
  /// Number of the LP in its region: 0 for the first location; the office has the highest.
  std::uint32_t number_in_region(orrery::LpId lp) const {
    return lp - regions_[region_of_[lp]].first;
  }
  bool is_office(orrery::LpId lp) const {
    return number_in_region(lp) == regions_[region_of_[lp]].locations;
  }
  orrery::LpId office(std::uint32_t region) const {
    return regions_[region].first + regions_[region].locations;
  }
  /// People who live at a location.
  std::uint32_t residents(orrery::LpId location) const;
  /// People at the locations of the region with lower numbers, and in regions with lower numbers.
  std::uint64_t residents_before(orrery::LpId location) const;
  std::uint64_t people_before(std::uint32_t region) const { return people_before_[region]; }

  bool has_ways(std::uint32_t region) const { return begin_[region] != begin_[region + 1]; }
  const Way& choose_way(std::uint32_t region, orrery::Random& random) const {
    return ways_[begin_[region] + random.discrete(choices_[region])];
  }
  /// The way between two regions, which must exist; every way has a reverse way.
  const Way& way(std::uint32_t from, std::uint32_t to) const;
  /// Over all ways; Duration::max() if there is no way.
  orrery::Duration shortest_way() const { return shortest_way_; }
  /// Calls `visit(from, to, share)` with the share of the trips from `from` that go to `to`.
  template <class Visit>
  void for_each_way(const Visit& visit) const {
    for (std::uint32_t from = 0; from < regions(); ++from)
      for (std::uint32_t i = begin_[from]; i < begin_[from + 1]; ++i)
        visit(from, ways_[i].to, shares_[i]);
  }

 private:
  struct Pair {
    std::uint32_t from, to;
    double distance_km;
    std::uint32_t changes;
  };
  void number_lps();
  void add_ways(std::vector<Pair>& pairs, const Travel& travel);

  std::vector<Region> regions_;
  std::vector<std::uint32_t> region_of_;   ///< by LP
  std::vector<std::uint32_t> begin_;       ///< a region's first way; one more at the end
  std::vector<Way> ways_;                  ///< by region, then by destination
  std::vector<double> shares_;             ///< of the ways
  std::vector<orrery::Discrete> choices_;  ///< among a region's ways
  std::vector<std::uint64_t> people_before_;
  std::uint64_t people_ = 0;
  orrery::Duration shortest_way_ = orrery::Duration::max();
};

}  // namespace epidemic
