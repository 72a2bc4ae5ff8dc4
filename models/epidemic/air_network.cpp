// SPDX-License-Identifier: Apache-2.0
#include "air_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "csv_reader.h"
#include "orrery/error.h"

namespace epidemic {
namespace {

constexpr double kMostPeople = 1e10;
constexpr double kHalfTheEquator_km = 20'038;
constexpr std::uint64_t kMostChanges = 4;

using Codes = std::unordered_map<std::string, std::uint32_t>;

Codes read_airports(const std::string& path, AirNetwork& network) {
  CsvReader reader(path, {"code", "longitude", "latitude", "population"});
  Codes codes;
  while (reader.next()) {
    const std::string code(reader.text(0));
    if (code.empty()) reader.refuse("an airport needs a code, found nothing");
    if (!codes.emplace(code, static_cast<std::uint32_t>(network.airports.size())).second)
      reader.refuse(fmt::format("the airport '{}' stands in the file twice", code));
    network.airports.push_back(
        {code, reader.real(1, -180, 180), reader.real(2, -90, 90), reader.real(3, 1, kMostPeople)});
  }
  if (network.airports.empty())
    throw orrery::UsageError(fmt::format("{}: there is no airport in it", path));
  return codes;
}

std::uint32_t airport(const CsvReader& reader, std::size_t column, const Codes& codes) {
  const auto found = codes.find(std::string(reader.text(column)));
  if (found == codes.end()) {
    reader.refuse(
        fmt::format("the airport '{}' is not in the file of airports", reader.text(column)));
  }
  return found->second;
}

void read_routes(const std::string& path, const Codes& codes, AirNetwork& network) {
  CsvReader reader(path, {"from", "to", "distance_km", "changes"});
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  while (reader.next()) {
    AirNetwork::Route route;
    route.from = airport(reader, 0, codes);
    route.to = airport(reader, 1, codes);
    // The path of a route with changes may be longer than any great circle.
    route.distance_km = reader.real(2, 1, static_cast<double>(kMostChanges) * kHalfTheEquator_km);
    route.changes = static_cast<std::uint32_t>(reader.count(3, kMostChanges));
    if (route.from == route.to) reader.refuse("a route leads from an airport to itself");
    if (!pairs.insert(std::minmax(route.from, route.to)).second) {
      reader.refuse(
          fmt::format("the pair {} and {} stands in the file twice; it is flown both "
                      "ways",
                      reader.text(0), reader.text(1)));
    }
    network.routes.push_back(route);
  }
}

}  // namespace

AirNetwork read_air_network(const std::string& airports_path, const std::string& routes_path) {
  AirNetwork network;
  read_routes(routes_path, read_airports(airports_path, network), network);
  return network;
}

}  // namespace epidemic
