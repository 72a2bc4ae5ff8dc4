// SPDX-License-Identifier: Apache-2.0
//
// Regions and the ways between them from two files, as us_by_air.py makes them: airports with the
// people who live nearest to them, and pairs of airports that can be flown, directly or with
// changes. A pair stands once and is flown both ways.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace epidemic {

struct AirNetwork {
  struct Airport {
    std::string code;
    double longitude = 0, latitude = 0;  // degrees
    double population = 0;
  };
  struct Route {
    std::uint32_t from = 0, to = 0;  // indices of airports
    double distance_km = 0;          // flown
    std::uint32_t changes = 0;       // of aeroplane
  };
  std::vector<Airport> airports;
  std::vector<Route> routes;
};

/// Throws orrery::UsageError, with file and line, for what is not such a file.
AirNetwork read_air_network(const std::string& airports_path, const std::string& routes_path);

}  // namespace epidemic
