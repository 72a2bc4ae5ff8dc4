// SPDX-License-Identifier: Apache-2.0
//
// Reads regions and the routes between them from the two files that us_by_air.py makes: airports,
// each with the number of people who live nearest to it, and pairs of airports that can be flown,
// directly or with changes. The file lists each pair once, for both directions.
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

/// Throws orrery::UsageError, with file and line, if a file does not have this format.
AirNetwork read_air_network(const std::string& airports_path, const std::string& routes_path);

}  // namespace epidemic
