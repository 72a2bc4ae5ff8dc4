// SPDX-License-Identifier: Apache-2.0
//
// What a laboratory consists of, from a TOML file: hosts, what they do, and the links between them.
// models/lab/README.md describes the file. A mistake is a UsageError that names file, line and key.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery::lab {

/// A direction of a link, from a device of a host to one of another.
struct Wire {
  std::uint32_t host = 0;        ///< at the far end
  unsigned device = 0;           ///< there
  std::int64_t delay_ns = 0;     ///< of the last bit, from when it has left
  std::uint64_t bits_per_s = 0;  ///< 0: no limit
};

struct Host {
  struct Program {
    std::int64_t at_ns = 0;
    std::string command;
  };
  struct Device {
    std::string address;  ///< "10.0.0.1/24"; may be empty
    Wire wire;            ///< what it sends
  };
  std::string name;
  unsigned memory_megabytes = 32;
  std::int64_t system_call_ns = 0;
  std::vector<std::string> setup;  ///< commands before any program
  std::vector<Program> programs;
  std::vector<Device> devices;  ///< by the order of links in the file
};

struct Topology {
  std::vector<Host> hosts;
};

Topology read_topology(const std::string& path);

}  // namespace orrery::lab
