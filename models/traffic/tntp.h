// SPDX-License-Identifier: Apache-2.0
//
// Reads the TNTP text format, in which transport researchers exchange road networks and trip tables
// (Transportation Networks for Research Core Team, github.com/bstabler/TransportationNetworks; the
// format goes back to H. Bar-Gera). A network file has one directed link a line, a trip table has
// one section for each origin, a node file has coordinates. The reader checks what one file allows
// to check, such as the counts and totals that the file states. network.cpp decides what the
// figures mean (units, zones that may be crossed).
//
// Every error is a UsageError with the file and line, the expected and the found text, because such
// files come from spreadsheets and many authors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace traffic {

/// The number of a node or zone in a file; usually from 1 on, but any other is possible.
using NodeNumber = std::uint64_t;

struct TntpLink {
  NodeNumber from, to;
  double capacity;        ///< vehicles per hour over all lanes; for 0 see capacity.h
  double length;          ///< in the file's unit, not negative
  double free_flow_time;  ///< in the file's unit, not negative
  double b, power;        ///< of the volume-delay function
  double lanes;           ///< 0: not in the file
  double toll;            ///< in the file's unit
  std::uint32_t line;
};

struct TntpNetwork {
  std::string path;
  std::uint32_t zones = 0;
  std::uint32_t nodes = 0;
  NodeNumber first_through = 1;  ///< vehicles must not cross nodes below this one
  std::string column_header;     ///< may name the units, such as "length (miles)"
  std::optional<double> toll_factor, distance_factor;  ///< of generalised cost
  std::vector<TntpLink> links;
};

struct TntpDemand {
  NodeNumber origin, destination;
  double trips;  ///< positive
  std::uint32_t line;
};

struct TntpTrips {
  std::string path;
  std::uint32_t zones = 0;
  std::vector<TntpDemand> pairs;  ///< pairs with trips > 0, in the file's order
};

struct TntpPoint {
  NodeNumber node;
  double x, y;
  std::uint32_t line;
};

struct TntpNodes {
  std::string path;
  std::vector<TntpPoint> points;
};

TntpNetwork read_tntp_network(const std::string& path);
TntpTrips read_tntp_trips(const std::string& path);
TntpNodes read_tntp_nodes(const std::string& path);

/// Throws UsageError: "PATH:LINE: WHAT".
[[noreturn]] void refuse_line(const std::string& path, std::uint32_t line, const std::string& what);

}  // namespace traffic
