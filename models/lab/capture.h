// SPDX-License-Identifier: Apache-2.0
//
// Writes the frames of a network interface to a file for Wireshark and tcpdump (pcap with
// nanoseconds: draft-ietf-opsawg-pcap; link type Ethernet). Frames have virtual times and are
// sorted by them, since arrivals are known ahead of their time. So these are no captures of the
// platform (orrery/capture.h), which have the time of the event that captures. They also outlive a
// run that fails, beside the consoles of the hosts.
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
  /// Throws std::system_error if the file cannot be made.
  explicit Capture(const std::string& path);
  ~Capture() { flush(); }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  void received(std::int64_t time_ns, std::span<const std::byte> frame);
  void sent(std::int64_t time_ns, std::span<const std::byte> frame);
  /// No frame before `time_ns` will come any more.
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
  std::deque<Frame> received_;  ///< not yet written, by time
};

}  // namespace orrery::lab
