// SPDX-License-Identifier: Apache-2.0
//
// How to start a User Mode Linux: the command line of its kernel, and the files in the host's folder
// through which it talks to this process.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "../control_groups.h"
#include "../device_address.h"
#include "../guest.h"
#include "../guest_process.h"
#include "../root_image.h"
#include "../topology.h"

namespace orrery::lab {

struct UmlSettings {
  NodeId host = 0;
  std::filesystem::path folder;  ///< the guest's own, absolute: sockets, console, programs
  std::filesystem::path kernel;
  std::filesystem::path olsrd;       ///< empty: the laboratory's
  std::filesystem::path root = "/";  ///< a folder, or a squashfs; "/": some of the machine's files
  ImageConfig config;                ///< of a root that is an image
  unsigned memory_megabytes = 32;
  std::uint64_t seed = 1;
  std::int64_t start_of_day_ns = kStartOfDayS * 1'000'000'000;  ///< the date at its start
  std::int64_t system_call_ns = 0, packet_ns = 0;
  std::chrono::milliseconds patience{20'000};  ///< guest_timeout.h
  bool ipv6 = true;
  bool virtual_time = true;  ///< false: the machine's clock
  struct Device {
    DeviceAddress address;
    std::uint16_t mtu;
  };
  std::vector<Device> devices;
  const ControlGroups* groups = nullptr;  ///< nullptr: no control groups

  // Sockets to which the guest connects.
  std::filesystem::path time_socket() const;
  std::filesystem::path device_socket(unsigned device) const;
  /// The file in which its kernel records the files that it executes.
  std::filesystem::path executed_file() const;
  /// A program that guest/build makes beside the kernel.
  std::filesystem::path program(const char* name) const {
    return std::filesystem::path(kernel).replace_filename(name);
  }
};

/// Settings of host number `id`, without its seed. `folder`: the folder of all hosts.
UmlSettings uml_settings(const Host& host, NodeId id, const std::filesystem::path& folder,
                         const std::filesystem::path& kernel);

/// Throws std::system_error if the list of executed files cannot be made.
GuestCommand uml_command(const UmlSettings& settings);

}  // namespace orrery::lab
