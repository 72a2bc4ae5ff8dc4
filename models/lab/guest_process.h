// SPDX-License-Identifier: Apache-2.0
//
// The process of a guest: a User Mode Linux in namespaces of its own, which sees a read-only part
// of the machine's files (guest/enter.c). When this object goes, or this process ends in any way,
// so does the guest: its first process waits for the end of a pipe that only we hold.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "control_groups.h"
#include "file.h"
#include "network_device.h"
#include "topology.h"

namespace orrery::lab {

/// What a guest is made of.
struct GuestSettings {
  std::filesystem::path folder;  ///< its own, absolute: sockets, console, what it runs
  std::filesystem::path kernel;
  std::filesystem::path olsrd;       ///< if not the laboratory's
  std::filesystem::path root = "/";  ///< whose files it sees; of the machine's only some
  unsigned memory_megabytes = 32;
  unsigned out_megabytes = 64;  ///< that it may leave in /out
  std::uint64_t seed = 1;
  std::int64_t system_call_ns = 0, packet_ns = 0;
  std::chrono::milliseconds patience{20'000};  ///< patience.h
  bool ipv6 = true;
  bool virtual_time = true;  ///< false: the machine's clock
  struct Device {
    NetworkDevice::Address address;
    std::uint16_t mtu;
  };
  std::vector<Device> devices;
  const ControlGroups* groups = nullptr;  ///< nullptr: none bound it
};

/// Built beside the kernel of hosts (guest/build), and seen by hosts in /lab.
inline constexpr const char* kProgramsOfHosts[] = {"init", "off", "as", "shell", "olsrd"};

/// Of a host's interface.
NetworkDevice::Address device_address(std::uint32_t host, unsigned device);
/// Of all stations of a radio channel.
std::vector<NetworkDevice::Address> station_addresses(const Node& radio);

/// Of host number `id`, all but its seed. `folder`: of all hosts.
GuestSettings guest_settings(const Host& host, std::uint32_t id,
                             const std::filesystem::path& folder,
                             const std::filesystem::path& kernel);
/// Makes the folders of all hosts of a topology anew, with what they run; `settings` by host.
/// Throws std::filesystem::filesystem_error, UsageError.
void prepare_guest_folders(const Topology& topology, const std::vector<GuestSettings>& settings);

class GuestProcess {
 public:
  /// Starts it, and does not wait. Throws std::system_error.
  explicit GuestProcess(const GuestSettings& settings);
  /// Ends it, if it has not been.
  ~GuestProcess();
  GuestProcess(const GuestProcess&) = delete;
  GuestProcess& operator=(const GuestProcess&) = delete;

  pid_t id() const { return id_; }
  /// Can be read once it has ended by itself.
  int descriptor() const { return process_.get(); }
  /// Ends it. True if all that it left in /out is in the folder `out` then; else its console says
  /// why not. Called once.
  bool end();

  // Where it connects to.
  static std::filesystem::path time_socket(const GuestSettings& settings);
  static std::filesystem::path device_socket(const GuestSettings& settings, unsigned device);
  /// Where its kernel writes what it executes.
  static std::filesystem::path executed_file(const GuestSettings& settings);

 private:
  pid_t id_ = -1;
  File process_;
  File life_line_;  ///< its end is the guest's
  std::vector<std::filesystem::path> groups_;
};

/// Throws UsageError if it cannot be written.
void write_file(const std::filesystem::path& path, const std::string& text);

}  // namespace orrery::lab
