// SPDX-License-Identifier: Apache-2.0
//
// What a laboratory consists of, from a TOML file: hosts and what they do, switches, the links
// between them, and what changes at which time. models/lab/README.md describes the file. A mistake
// is a UsageError that names file, line and key.
//
// Hosts, switches and radio channels are nodes, and have numbers in this order. What changes a link
// is known from the beginning, so a link is a list of phases, and nobody has to be told.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "radio.h"

namespace orrery::lab {

using NodeId = std::uint32_t;

/// What a direction of a link is like from a time on.
struct Phase {
  enum class Jitter : std::uint8_t { uniform, exponential, normal };

  std::int64_t from_ns = 0;
  bool up = true;
  std::int64_t delay_ns = 0;     ///< of the last bit, from when it has left
  std::uint64_t bits_per_s = 0;  ///< 0: no limit
  std::int64_t jitter_ns = 0;    ///< most of a uniform one, mean, or standard deviation
  Jitter jitter = Jitter::uniform;
  double loss = 0, corruption = 0;  ///< probabilities of a frame
};

/// A direction of a link, from a port of a node to one of another.
struct Wire {
  NodeId node = 0;                ///< at the far end
  unsigned port = 0;              ///< there
  std::vector<Phase> phases;      ///< by time; the first from 0
  std::optional<unsigned> queue;  ///< frames that may wait for others; more are dropped
  std::size_t mtu = 1500;         ///< bytes of a packet in a frame, at most
  bool reorders = false;          ///< jitter lets a frame overtake
  bool tells_carrier = true;      ///< its sender sees when it goes down and up

  const Phase& at(std::int64_t time) const;
  std::int64_t least_delay_ns() const;
  /// Whether it is up all the time from `begin` to `end`.
  bool is_up(std::int64_t begin, std::int64_t end) const;
};

struct Port {
  std::string address;  ///< of a host: "10.0.0.1/24"; may be empty
  bool capture = true;  ///< of a host: what passes is written to a file
  Wire wire;            ///< what it sends
};

struct Node {
  std::string name;
  std::vector<Port> ports;  ///< by the order of links in the file
};

struct Host : Node {
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  struct Program {
    std::int64_t at_ns = 0;
    std::string command;
    std::string user = {};  ///< of the host; "": its root
  };
  unsigned memory_megabytes = 32;
  std::int64_t system_call_ns = 0, packet_ns = 0;  ///< what they cost
  std::vector<std::string> setup;                  ///< commands before any program
  std::vector<Program> programs;
  std::map<std::string, std::filesystem::path> files;  ///< by their path on the host
  std::optional<std::filesystem::path> root;           ///< instead of the machine's files
  std::int64_t crash_ns = kNever;
  bool ipv6 = true;
  bool has_shell = false;  ///< at its last port
  bool may_end = false;    ///< if it ends in disorder, the others go on
};

struct Switch : Node {
  std::int64_t latency_ns = 0;
};

/// Its ports are its stations.
struct RadioNode : Node {
  Radio radio;
};

struct Topology {
  std::vector<Host> hosts;
  std::vector<Switch> switches;
  std::vector<RadioNode> radios;
  std::optional<Node> terminal;  ///< the last node; not from the file

  std::size_t nodes() const { return first_radio() + radios.size() + (terminal ? 1 : 0); }
  bool is_host(NodeId id) const { return id < hosts.size(); }
  bool is_radio(NodeId id) const {
    return id >= first_radio() && id < first_radio() + radios.size();
  }
  bool is_terminal(NodeId id) const { return id == first_radio() + radios.size(); }
  /// Its place among the radio channels.
  std::size_t radio_number(NodeId id) const { return id - first_radio(); }
  const RadioNode& radio(NodeId id) const { return radios[radio_number(id)]; }
  const Node& node(NodeId id) const {
    if (is_host(id)) return hosts[id];
    if (id < first_radio()) return switches[id - hosts.size()];
    return is_terminal(id) ? *terminal : radio(id);
  }
  /// A terminal, at which a shell of that host is; nullptr: which only keeps the pace.
  void add_terminal(Host* host);

 private:
  std::size_t first_radio() const { return hosts.size() + switches.size(); }
};

Topology read_topology(const std::string& path);

}  // namespace orrery::lab
