// SPDX-License-Identifier: Apache-2.0
//
// What passes a network interface, as a file that Wireshark and tcpdump read (pcap with
// nanoseconds: draft-ietf-opsawg-pcap; link type Ethernet), with virtual times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "file.h"

namespace orrery::lab {

class Capture {
 public:
  /// Throws std::system_error.
  explicit Capture(const std::string& path);
  ~Capture() { flush(); }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  void add(std::int64_t time_ns, std::span<const std::byte> frame);

 private:
  template <class Value>
  void put(const Value& value);
  void flush();

  const File file_;
  std::vector<std::byte> buffer_;
};

}  // namespace orrery::lab
