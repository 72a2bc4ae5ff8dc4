// SPDX-License-Identifier: Apache-2.0
//
// What passes a network interface, as a file that Wireshark and tcpdump read (pcap with
// nanoseconds: draft-ietf-opsawg-pcap; link type Ethernet), with virtual times and in their order:
// what arrives is known ahead of its time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
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

  void received(std::int64_t time_ns, std::span<const std::byte> frame);
  void sent(std::int64_t time_ns, std::span<const std::byte> frame);
  /// Nothing more will come before `time_ns`.
  void passed(std::int64_t time_ns);

 private:
  struct Frame {
    std::int64_t time_ns;
    std::vector<std::byte> bytes;
  };
  void add(std::int64_t time_ns, std::span<const std::byte> frame);
  template <class Value>
  void put(const Value& value);
  void flush();

  const File file_;
  std::vector<std::byte> buffer_;
  std::deque<Frame> received_;  ///< that have not been written, by time
};

}  // namespace orrery::lab
