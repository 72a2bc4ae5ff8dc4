// SPDX-License-Identifier: Apache-2.0
//
// The process of a guest: a User Mode Linux in namespaces of its own, which sees a read-only part
// of the machine's files (guest/enter.c). The guest ends with this object or with this process: its
// first process waits for the end of a pipe that only this process holds.
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

/// How to start a guest.
struct GuestSettings {
  std::filesystem::path folder;  ///< the guest's own, absolute: sockets, console, programs
  std::filesystem::path kernel;
  std::filesystem::path olsrd;       ///< empty: the laboratory's
  std::filesystem::path root = "/";  ///< files that the guest sees; "/": some of the machine's
  unsigned memory_megabytes = 32;
  unsigned out_megabytes = 64;  ///< limit for files in /out
  std::uint64_t seed = 1;
  std::int64_t system_call_ns = 0, packet_ns = 0;
  std::chrono::milliseconds patience{20'000};  ///< guest_timeout.h
  bool ipv6 = true;
  bool virtual_time = true;  ///< false: the machine's clock
  struct Device {
    NetworkDevice::Address address;
    std::uint16_t mtu;
  };
  std::vector<Device> devices;
  const ControlGroups* groups = nullptr;  ///< nullptr: no control groups
};

/// Programs that guest/build makes beside the hosts' kernel; hosts see them in /lab.
inline constexpr const char* kProgramsOfHosts[] = {"init", "off", "as", "shell", "olsrd"};

/// Address of a host's interface.
NetworkDevice::Address device_address(std::uint32_t host, unsigned device);
/// Addresses of all stations of a radio channel.
std::vector<NetworkDevice::Address> station_addresses(const Node& radio);

/// Settings of host number `id`, without its seed. `folder`: the folder of all hosts.
GuestSettings guest_settings(const Host& host, std::uint32_t id,
                             const std::filesystem::path& folder,
                             const std::filesystem::path& kernel);
/// Makes the folders of all hosts of a topology anew, with the programs of hosts; `settings` by
/// host. Throws std::filesystem::filesystem_error, UsageError.
void prepare_guest_folders(const Topology& topology, const std::vector<GuestSettings>& settings);

class GuestProcess {
 public:
  /// Starts the guest and does not wait. Throws std::system_error.
  explicit GuestProcess(const GuestSettings& settings);
  /// Ends the guest unless end() has done so.
  ~GuestProcess();
  GuestProcess(const GuestProcess&) = delete;
  GuestProcess& operator=(const GuestProcess&) = delete;

  pid_t id() const { return id_; }
  /// Becomes readable when the guest has ended by itself.
  int descriptor() const { return process_.get(); }
  /// Ends the guest. True if all that it left in /out is now in the folder `out`; otherwise its
  /// console says why not. May be called only once.
  bool end();

  // Sockets to which the guest connects.
  static std::filesystem::path time_socket(const GuestSettings& settings);
  static std::filesystem::path device_socket(const GuestSettings& settings, unsigned device);
  /// The file in which its kernel records the files that it executes.
  static std::filesystem::path executed_file(const GuestSettings& settings);

 private:
  pid_t id_ = -1;
  File process_;
  File life_line_;  ///< closing it ends the guest
  std::vector<std::filesystem::path> groups_;
};

/// Throws UsageError if the file cannot be written.
void write_file(const std::filesystem::path& path, const std::string& text);

}  // namespace orrery::lab
