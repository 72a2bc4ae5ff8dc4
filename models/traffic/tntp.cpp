// SPDX-License-Identifier: Apache-2.0
//
// The three kinds of TNTP files (tntp.h), read word by word (tntp_reader.h).
#include "tntp.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_set>

#include "columns.h"
#include "orrery/error.h"
#include "tntp_reader.h"

namespace traffic {
namespace {

constexpr std::uint64_t kMostNodes = 100'000'000;
/// Below this a vehicle would wait for weeks behind another, so the figure must be an error.
constexpr double kSmallestCapacity = 0.001;
/// Files state totals with at least six digits.
constexpr double kTotalTolerance = 1e-5;

/// The head of a file: lines such as "<NUMBER OF ZONES> 24" up to "<END OF METADATA>".
struct Metadata {
  std::optional<std::uint64_t> zones, nodes, links, first_through;
  std::optional<double> total_flow, toll_factor, distance_factor;
  std::string column_header;
};

Metadata read_metadata(Reader& reader) {
  Metadata data;
  std::set<std::string_view> given;
  while (reader.next_line()) {
    const std::string_view line = reader.line();
    const std::size_t close = line.find('>');
    if (line.front() != '<' || close == std::string_view::npos) {
      reader.refuse(
          "a metadata line such as '<NUMBER OF ZONES> 24', or '<END OF METADATA>', is "
          "expected before the data, found " +
          quoted(line));
    }
    const std::string_view name = line.substr(1, close - 1);
    if (name == "END OF METADATA") return data;
    const std::string shown = "<" + std::string(name) + ">";
    reader.skip_to(close + 1);
    if (name != "ORIGINAL HEADER" && !given.emplace(name).second)
      reader.refuse(fmt::format("'{}' is given a second time", shown));
    const auto value = [&] { return reader.count(shown); };
    if (name == "NUMBER OF ZONES") data.zones = value();
    if (name == "NUMBER OF NODES") data.nodes = value();
    if (name == "NUMBER OF LINKS") data.links = value();
    if (name == "FIRST THRU NODE") data.first_through = value();
    if (name == "TOTAL OD FLOW") data.total_flow = reader.real_not_negative(shown);
    if (name == "TOLL FACTOR") data.toll_factor = reader.real_not_negative(shown);
    if (name == "DISTANCE FACTOR") data.distance_factor = reader.real_not_negative(shown);
    if (name == "ORIGINAL HEADER") data.column_header = std::string(line.substr(close + 1));
  }
  reader.refuse("'<END OF METADATA>' is expected, found the end of the file");
}

std::uint32_t require(const Reader& reader, const std::optional<std::uint64_t>& value,
                      std::string_view name) {
  if (!value || *value == 0) {
    reader.refuse(
        fmt::format("a line '<{}> n' with n of at least 1 is expected in the metadata, "
                    "found {}",
                    name, value ? "0" : "none"));
  }
  if (*value > kMostNodes)
    reader.refuse(fmt::format("<{}> must not be above {}, found {}", name, kMostNodes, *value));
  return static_cast<std::uint32_t>(*value);
}

constexpr const char* kFromColumn = "the first column (init node)";
constexpr const char* kToColumn = "the second column (term node)";

[[noreturn]] void refuse_node(const TntpNetwork& network, const TntpLink& link, bool is_from,
                              const std::string& why) {
  refuse_line(network.path, link.line,
              fmt::format("{} is expected to be a node from 1 to {}, found {}{}",
                          is_from ? kFromColumn : kToColumn, network.nodes,
                          is_from ? link.from : link.to, why));
}

/// Nodes are numbered 1 to n, or in any other way if the links name n nodes in all.
void check_nodes(const TntpNetwork& network) {
  const TntpLink* beyond = nullptr;
  for (const TntpLink& link : network.links) {
    if (link.from == 0 || link.to == 0) refuse_node(network, link, link.from == 0, "");
    if (beyond == nullptr && std::max(link.from, link.to) > network.nodes) beyond = &link;
  }
  if (beyond == nullptr) return;
  std::set<NodeNumber> named;
  for (const TntpLink& link : network.links) named.insert({link.from, link.to});
  if (named.size() == network.nodes) return;
  refuse_node(network, *beyond, beyond->from > network.nodes,
              fmt::format("; other numbers are possible if '<NUMBER OF NODES>' is the number of "
                          "nodes that the links name, {}",
                          named.size()));
}

/// Accepts lines without ";" at the end, as in some files of the collection.
void read_end(Reader& reader, const char* kind) {
  if (!reader.at_line_end()) reader.expect(";", fmt::format("at the end of a {}", kind));
  if (!reader.at_line_end())
    reader.refuse(
        fmt::format("one {} a line is expected, found more text: {}", kind, quoted(reader.word())));
}

TntpLink read_link(Reader& reader, const LinkColumns& columns) {
  TntpLink link{};
  link.line = reader.number();
  link.from = reader.count(kFromColumn);
  link.to = reader.count(kToColumn);
  link.capacity = reader.real("the third column (capacity, vehicles per hour)");
  if (link.capacity != 0 && link.capacity < kSmallestCapacity) {
    reader.refuse(
        fmt::format("a capacity above 0 (at least {}) vehicles per hour, or 0 for a closed road, "
                    "is expected, found {}",
                    kSmallestCapacity, link.capacity));
  }
  link.length = reader.real_not_negative("the fourth column (length)");
  link.free_flow_time = reader.real_not_negative("the fifth column (free flow time)");
  if (link.from == link.to)
    reader.refuse(fmt::format("a link between two nodes is expected, found one from {} to itself",
                              link.from));
  // All of these columns are numbers; a truncated link has fewer.
  constexpr const char* kRest[] = {"the sixth column (B)", "the seventh column (power)",
                                   "the eighth column (speed)", "the ninth column (toll)",
                                   "the tenth column (link type)"};
  double rest[5];
  for (std::size_t i = 0; i < 5; ++i) rest[i] = reader.real(kRest[i]);
  link.b = rest[0];
  link.power = rest[1];
  link.toll = rest[3];
  columns.apply(rest, link);
  read_end(reader, "link");
  return link;
}

/// "5 : 1.5; 7 : 2; ..." in the section of one origin. `given`: the origin's destinations so far.
void read_pairs(Reader& reader, NodeNumber origin, TntpTrips& trips, double& total,
                std::unordered_set<NodeNumber>& given) {
  while (!reader.at_line_end()) {
    const NodeNumber destination = reader.count("a destination zone");
    if (!given.insert(destination).second)
      reader.refuse(fmt::format("trips from zone {} to zone {} are given a second time", origin,
                                destination));
    reader.expect(":", "between destination and trips");
    const double count = reader.real_not_negative("the number of trips");
    reader.expect(";", "after the number of trips");
    total += count;
    if (count > 0) trips.pairs.push_back({origin, destination, count, reader.number()});
  }
}

bool starts_with_letter(std::string_view text) {
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text.front())) != 0;
}

/// Detects a truncated table, which is still a valid table.
void check_total(const TntpTrips& trips, const std::optional<double>& stated, double found) {
  if (!stated || std::abs(found - *stated) <= kTotalTolerance * *stated) return;
  throw orrery::UsageError(fmt::format(
      "{}: the trips add up to {:.10g}, but '<TOTAL OD FLOW>' says {:.10g}: is a part of "
      "the file missing? (if not, correct that line or remove it)",
      trips.path, found, *stated));
}

}  // namespace

TntpNetwork read_tntp_network(const std::string& path) {
  Reader reader(path);
  const Metadata data = read_metadata(reader);
  TntpNetwork network;
  network.path = path;
  network.zones = require(reader, data.zones, "NUMBER OF ZONES");
  network.nodes = require(reader, data.nodes, "NUMBER OF NODES");
  network.first_through = data.first_through.value_or(1);
  network.column_header = data.column_header;
  network.toll_factor = data.toll_factor;
  network.distance_factor = data.distance_factor;
  if (network.zones > network.nodes) {
    reader.refuse(
        fmt::format("at most as many zones as nodes are expected, found {} zones and {} "
                    "nodes",
                    network.zones, network.nodes));
  }
  std::optional<LinkColumns> columns;  // the comment with column names stands before the first link
  while (reader.next_line()) {
    if (!columns) columns.emplace(path, data.column_header, reader.comments());
    network.links.push_back(read_link(reader, *columns));
  }
  if (network.links.empty()) reader.refuse("links are expected after the metadata, found none");
  if (data.links && *data.links != network.links.size()) {
    reader.refuse(
        fmt::format("'<NUMBER OF LINKS>' is {}, but the number of links in the file is {}",
                    *data.links, network.links.size()));
  }
  check_nodes(network);
  return network;
}

TntpTrips read_tntp_trips(const std::string& path) {
  Reader reader(path);
  const Metadata data = read_metadata(reader);
  TntpTrips trips;
  trips.path = path;
  trips.zones = require(reader, data.zones, "NUMBER OF ZONES");
  NodeNumber origin = 0;
  double total = 0;
  std::unordered_set<NodeNumber> origins, destinations;
  while (reader.next_line()) {
    if (starts_with_letter(reader.line())) {
      reader.expect("Origin", "before the trips of a zone");
      origin = reader.count("the number of the origin zone");
      if (!origins.insert(origin).second)
        reader.refuse(fmt::format("'Origin {}' is given a second time", origin));
      destinations.clear();
    } else if (origin == 0) {
      reader.refuse("a line 'Origin n' is expected before the first trips, found " +
                    quoted(reader.line()));
    }
    read_pairs(reader, origin, trips, total, destinations);
  }
  check_total(trips, data.total_flow, total);
  return trips;
}

TntpNodes read_tntp_nodes(const std::string& path) {
  Reader reader(path);
  TntpNodes nodes;
  nodes.path = path;
  while (reader.next_line()) {
    if (nodes.points.empty() && starts_with_letter(reader.line())) continue;  // names of columns
    TntpPoint point{};
    point.line = reader.number();
    point.node = reader.count("the first column (node)");
    point.x = reader.real("the second column (X)");
    point.y = reader.real("the third column (Y)");
    read_end(reader, "node");
    nodes.points.push_back(point);
  }
  return nodes;
}

}  // namespace traffic
