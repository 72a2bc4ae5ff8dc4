// SPDX-License-Identifier: Apache-2.0
//
// Messages to and from a guest over a local socket, whole or not at all. A guest that stops in the
// middle of one, or does not take what is sent, is given up after a while of wall-clock time.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "file.h"

namespace orrery::lab {

/// A socket that guests connect to, at a path of the system.
class Listener {
 public:
  /// Throws std::system_error, and std::length_error for a path that no socket can have.
  explicit Listener(const std::string& path);
  int descriptor() const { return file_.get(); }
  /// Throws GuestError if nobody comes.
  File accept() const;

 private:
  const File file_;
};

class Channel {
 public:
  Channel() = default;
  explicit Channel(File socket);

  bool is_open() const { return file_.is_open(); }
  int descriptor() const { return file_.get(); }

  /// Throw GuestGone if it has closed its end, GuestError if it does not go on.
  void send(std::span<const std::byte> bytes, std::span<const int> files = {}) const;
  void receive(std::span<std::byte> bytes) const;
  /// With the files that come with the first byte.
  void receive(std::span<std::byte> bytes, std::vector<File>& files) const;

  /// A struct as it lies in memory.
  template <class Message>
  void put(const Message& message) const {
    send(std::as_bytes(std::span(&message, 1)));
  }
  template <class Message>
  Message take() const {
    Message message;
    receive(std::as_writable_bytes(std::span(&message, 1)));
    return message;
  }

 private:
  std::size_t receive_some(std::span<std::byte> bytes, std::vector<File>* files) const;

  File file_;
};

}  // namespace orrery::lab
