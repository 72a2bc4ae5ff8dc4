// SPDX-License-Identifier: Apache-2.0
//
// The TNTP reader. Files are read whole and cut into lines and words in place: the largest trip
// tables have some ten million words, and streams would take most of the start-up time.
#include "tntp.h"

#include <fmt/format.h>

#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>

#include "orrery/error.h"

namespace traffic {
namespace {

constexpr NodeNumber kMaxNodes = 100'000'000;
/// Below it a vehicle would wait for weeks behind another; that cannot be meant.
constexpr double kSmallestCapacity = 0.001;

std::string read_whole(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  if (file) text.assign(std::istreambuf_iterator<char>(file), {});
  if (!file || file.bad()) {
    throw orrery::UsageError(fmt::format("cannot read '{}': {}", path,
                                         errno != 0 ? std::strerror(errno) : "input error"));
  }
  return text;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// For messages: what was found, cut to a readable length.
std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 40;
  if (text.empty()) return "nothing";
  std::string shown;
  for (const char c : text.substr(0, kShown))
    shown += std::isprint(static_cast<unsigned char>(c)) ? c : '?';
  return fmt::format("'{}{}'", shown, text.size() > kShown ? "..." : "");
}

/// Walks through a file line by line and, within a line, word by word. `;` and `:` are words of
/// their own, so "5:1.5;" and "5 : 1.5 ;" read alike.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), text_(read_whole(path)) {}

  /// The next line that is neither empty nor a comment.
  bool next_line() {
    while (at_ < text_.size()) {
      std::size_t end = text_.find('\n', at_);
      if (end == std::string::npos) end = text_.size();
      line_ = trim(std::string_view(text_).substr(at_, end - at_));
      at_ = end + 1;
      ++number_;
      if (!line_.empty() && line_.front() != '~') {
        rest_ = line_;
        return true;
      }
    }
    return false;
  }
  std::string_view line() const { return line_; }
  std::uint32_t number() const { return number_; }
  const std::string& path() const { return path_; }

  /// The next word of the line; empty at its end.
  std::string_view word() {
    rest_ = trim(rest_);
    std::size_t length = 0;
    while (length < rest_.size() && !is_blank(rest_[length]) && !is_separator(rest_[length]))
      ++length;
    if (length == 0 && !rest_.empty()) length = 1;
    const std::string_view result = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return result;
  }
  void skip_to(std::size_t column) { rest_ = line_.substr(column); }
  bool at_line_end() { return (rest_ = trim(rest_)).empty(); }

  void expect(std::string_view wanted, std::string_view where) {
    const std::string_view found = word();
    if (found != wanted)
      refuse(fmt::format("'{}' is expected {}, found {}", wanted, where, quoted(found)));
  }

  double real(std::string_view what) {
    const std::string_view text = word();
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
      refuse_number(what, "a number", text);
    return value;
  }
  double real_not_negative(std::string_view what) {
    const double value = real(what);
    if (value < 0) refuse(fmt::format("{} must not be negative, found {}", what, value));
    return value;
  }
  NodeNumber count(std::string_view what) {
    const std::string_view text = word();
    NodeNumber value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
      refuse_number(what, "a whole number", text);
    if (value > kMaxNodes)
      refuse(fmt::format("{} must not be above {}, found {}", what, kMaxNodes, value));
    return value;
  }

  [[noreturn]] void refuse(const std::string& what) const { refuse_line(path_, number_, what); }

 private:
  static bool is_separator(char c) { return c == ';' || c == ':'; }

  [[noreturn]] void refuse_number(std::string_view what, std::string_view kind,
                                  std::string_view found) const {
    const bool grouped = !found.empty() &&
                         std::isdigit(static_cast<unsigned char>(found.front())) &&
                         found.find(',') != std::string_view::npos;
    refuse(fmt::format("{} is expected as {}, found {}{}", what, kind, quoted(found),
                       grouped ? " (write numbers with a decimal point and without thousands "
                                 "separators)"
                               : ""));
  }

  const std::string& path_;
  std::string text_;
  std::size_t at_ = 0;
  std::uint32_t number_ = 0;
  std::string_view line_, rest_;
};

/// The head of a file: lines such as "<NUMBER OF ZONES> 24" up to "<END OF METADATA>".
struct Metadata {
  std::optional<NodeNumber> zones, nodes, links, first_through;
  std::string column_header;
};

Metadata read_metadata(Reader& reader) {
  Metadata data;
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
    const auto value = [&] {
      reader.skip_to(close + 1);
      return reader.count("<" + std::string(name) + ">");
    };
    if (name == "NUMBER OF ZONES") data.zones = value();
    if (name == "NUMBER OF NODES") data.nodes = value();
    if (name == "NUMBER OF LINKS") data.links = value();
    if (name == "FIRST THRU NODE") data.first_through = value();
    if (name == "ORIGINAL HEADER") data.column_header = std::string(line.substr(close + 1));
  }
  reader.refuse("'<END OF METADATA>' is expected, found the end of the file");
}

NodeNumber require(const Reader& reader, const std::optional<NodeNumber>& value,
                   std::string_view name) {
  if (!value || *value == 0) {
    reader.refuse(
        fmt::format("a line '<{}> n' with n of at least 1 is expected in the metadata, "
                    "found {}",
                    name, value ? "0" : "none"));
  }
  return *value;
}

NodeNumber read_node(Reader& reader, std::string_view what, NodeNumber nodes) {
  const NodeNumber node = reader.count(what);
  if (node < 1 || node > nodes)
    reader.refuse(
        fmt::format("{} is expected to be a node from 1 to {}, found {}", what, nodes, node));
  return node;
}

TntpLink read_link(Reader& reader, NodeNumber nodes) {
  TntpLink link{};
  link.line = reader.number();
  link.from = read_node(reader, "the first column (init node)", nodes);
  link.to = read_node(reader, "the second column (term node)", nodes);
  link.capacity = reader.real("the third column (capacity, vehicles per hour)");
  if (link.capacity < kSmallestCapacity) {
    reader.refuse(
        fmt::format("a capacity above 0 (at least {}) vehicles per hour is expected, found {}",
                    kSmallestCapacity, link.capacity));
  }
  link.length = reader.real_not_negative("the fourth column (length)");
  link.free_flow_time = reader.real_not_negative("the fifth column (free flow time)");
  if (link.from == link.to)
    reader.refuse(fmt::format("a link between two nodes is expected, found one from {} to itself",
                              link.from));
  // B, power, speed, toll and type follow, all of them numbers; a link that is cut off has fewer.
  constexpr const char* kRest[] = {"the sixth column (B)", "the seventh column (power)",
                                   "the eighth column (speed)", "the ninth column (toll)",
                                   "the tenth column (link type)"};
  for (const char* column : kRest) reader.real(column);
  reader.expect(";", "at the end of a link");
  if (!reader.at_line_end())
    reader.refuse("one link a line is expected, found more text: " + quoted(reader.word()));
  return link;
}

/// "5 : 1.5; 7 : 2; ..." in the section of one origin.
void read_pairs(Reader& reader, NodeNumber origin, TntpTrips& trips) {
  while (!reader.at_line_end()) {
    const NodeNumber destination = reader.count("a destination zone");
    reader.expect(":", "between destination and trips");
    const double count = reader.real_not_negative("the number of trips");
    reader.expect(";", "after the number of trips");
    if (count > 0) trips.pairs.push_back({origin, destination, count, reader.number()});
  }
}

bool starts_with_letter(std::string_view text) {
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text.front())) != 0;
}

}  // namespace

void refuse_line(const std::string& path, std::uint32_t line, const std::string& what) {
  throw orrery::UsageError(fmt::format("{}:{}: {}", path, line, what));
}

TntpNetwork read_tntp_network(const std::string& path) {
  Reader reader(path);
  const Metadata data = read_metadata(reader);
  TntpNetwork network;
  network.path = path;
  network.zones = require(reader, data.zones, "NUMBER OF ZONES");
  network.nodes = require(reader, data.nodes, "NUMBER OF NODES");
  network.first_through = data.first_through.value_or(1);
  network.column_header = data.column_header;
  if (network.zones > network.nodes) {
    reader.refuse(
        fmt::format("at most as many zones as nodes are expected, found {} zones and {} "
                    "nodes",
                    network.zones, network.nodes));
  }
  while (reader.next_line()) network.links.push_back(read_link(reader, network.nodes));
  if (network.links.empty()) reader.refuse("links are expected after the metadata, found none");
  if (data.links && *data.links != network.links.size()) {
    reader.refuse(fmt::format("{} links are expected ('<NUMBER OF LINKS>'), found {}", *data.links,
                              network.links.size()));
  }
  return network;
}

TntpTrips read_tntp_trips(const std::string& path) {
  Reader reader(path);
  const Metadata data = read_metadata(reader);
  TntpTrips trips;
  trips.path = path;
  trips.zones = require(reader, data.zones, "NUMBER OF ZONES");
  NodeNumber origin = 0;
  while (reader.next_line()) {
    if (starts_with_letter(reader.line())) {
      reader.expect("Origin", "before the trips of a zone");
      origin = reader.count("the number of the origin zone");
    } else if (origin == 0) {
      reader.refuse("a line 'Origin n' is expected before the first trips, found " +
                    quoted(reader.line()));
    }
    read_pairs(reader, origin, trips);
  }
  return trips;
}

TntpNodes read_tntp_nodes(const std::string& path) {
  Reader reader(path);
  TntpNodes nodes;
  nodes.path = path;
  while (reader.next_line()) {
    if (starts_with_letter(reader.line())) continue;  // the names of the columns
    TntpPoint point{};
    point.line = reader.number();
    point.node = reader.count("the first column (node)");
    point.x = reader.real("the second column (X)");
    point.y = reader.real("the third column (Y)");
    nodes.points.push_back(point);
  }
  return nodes;
}

}  // namespace traffic
