// SPDX-License-Identifier: Apache-2.0
//
// The topology of a laboratory, from a TOML file: hosts and their programs, switches, the links
// between them, and the changes at given times. models/lab/README.md describes the file. Errors are
// UsageErrors with file, line and key.
//
// Hosts, switches and radio channels are nodes, numbered in this order. All changes of a link are
// known from the beginning. So a link is a list of phases, and changes need no events.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "guest.h"
#include "host_clock.h"
#include "qemu/qemu_host.h"
#include "radio.h"
#include "uml/uml_host.h"
#include "vm/vm_host.h"

namespace orrery::lab {

using NodeId = std::uint32_t;

/// The properties of one direction of a link from a time on.
struct Phase {
  enum class Jitter : std::uint8_t { uniform, exponential, normal };

  std::int64_t from_ns = 0;
  bool up = true;
  std::int64_t delay_ns = 0;     ///< from the departure of the last bit to its arrival
  std::uint64_t bits_per_s = 0;  ///< 0: no limit
  std::int64_t jitter_ns = 0;    ///< maximum of a uniform one, mean, or standard deviation
  Jitter jitter = Jitter::uniform;
  double loss = 0, corruption = 0;  ///< probabilities of a frame
};

/// One direction of a link, from a port of a node to a port of another node.
struct Wire {
  NodeId node = 0;                ///< the receiving node
  unsigned port = 0;              ///< the receiving port
  std::vector<Phase> phases;      ///< by time; the first from 0
  std::optional<unsigned> queue;  ///< frames that may wait; further frames are dropped
  std::size_t mtu = 1500;         ///< largest packet in a frame, in bytes
  bool reorders = false;          ///< jitter lets a frame overtake
  bool tells_carrier = true;      ///< its sender sees that the link goes down and up

  const Phase& at(std::int64_t time) const;
  std::int64_t least_delay_ns() const;
  /// Whether the link is up all the time from `begin` to `end`.
  bool is_up(std::int64_t begin, std::int64_t end) const;
};

struct Port {
  std::string address;  ///< of a host: "10.0.0.1/24"; may be empty
  bool capture = true;  ///< of a host: frames are written to a file
  Wire wire;            ///< the outgoing direction
};

struct Node {
  std::string name;
  std::vector<Port> ports;  ///< in the order of links in the file
};

/// What a host is: the key `machine`, in the order of the table in topology.cpp.
enum class MachineKind : std::uint8_t { uml, qemu, vm };

struct Host : Node {
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  struct Program {
    std::int64_t at_ns = 0;
    std::string command;
    std::string user = {};  ///< user on the host; "": its root
  };
  MachineKind machine = MachineKind::uml;
  UmlHost uml;    ///< of a host of this kind
  QemuHost qemu;  ///< of a host of this kind
  VmHost vm;      ///< of a host of this kind
  HostClock clock;
  std::int64_t clock_offset_ns = 0;  ///< how much later its date is at the start
  unsigned memory_megabytes = 32;    ///< the most that it uses
  std::vector<std::string> setup;    ///< commands before any program
  std::vector<Program> programs;
  std::map<std::string, std::filesystem::path> files;  ///< source files by their paths on the host
  std::int64_t crash_ns = kNever;
  bool has_shell = false;  ///< at its last port
  bool may_end = false;    ///< the run goes on if this host fails

  bool has_linux() const {
    return machine == MachineKind::uml || (machine == MachineKind::qemu && qemu.has_linux());
  }
  bool has_own_clock() const { return clock.drifts() || clock_offset_ns != 0; }
  /// The date that the host's clock shows at the start, in nanoseconds of Unix time.
  std::int64_t start_of_day_ns() const { return kStartOfDayS * 1'000'000'000 + clock_offset_ns; }
};

struct Switch : Node {
  std::int64_t latency_ns = 0;
};

/// A radio channel as a node. Each port is a station.
struct RadioNode : Node {
  Radio radio;
};

struct Topology {
  std::vector<Host> hosts;
  std::vector<Switch> switches;
  std::vector<RadioNode> radios;
  std::optional<Node> terminal;              ///< the last node; not from the file
  std::vector<std::filesystem::path> files;  ///< that describe it, but for further events

  std::size_t nodes() const { return first_radio() + radios.size() + (terminal ? 1 : 0); }
  bool is_host(NodeId id) const { return id < hosts.size(); }
  std::vector<NodeId> hosts_of(MachineKind kind) const;
  bool is_radio(NodeId id) const {
    return id >= first_radio() && id < first_radio() + radios.size();
  }
  bool is_terminal(NodeId id) const { return id == first_radio() + radios.size(); }
  /// Index in `radios`.
  std::size_t radio_number(NodeId id) const { return id - first_radio(); }
  const Switch& switch_of(NodeId id) const { return switches[id - hosts.size()]; }
  const RadioNode& radio(NodeId id) const { return radios[radio_number(id)]; }
  const Node& node(NodeId id) const {
    if (is_host(id)) return hosts[id];
    if (id < first_radio()) return switch_of(id);
    return is_terminal(id) ? *terminal : radio(id);
  }
  /// Adds a terminal with a shell on `host`. nullptr: the terminal only sets the pace of the run.
  void add_terminal(Host* host);

 private:
  std::size_t first_radio() const { return hosts.size() + switches.size(); }
};

/// A file with further [[event]], none of which is before `from_ns`.
struct MoreEvents {
  std::string path;
  std::int64_t from_ns = 0;
};

Topology read_topology(const std::string& path, const std::vector<MoreEvents>& more = {});

/// Reads the keys `setup`, `program` and `files`, for kinds of machines that run Linux.
void read_programs(const TomlTable& table, Host& host);

}  // namespace orrery::lab
