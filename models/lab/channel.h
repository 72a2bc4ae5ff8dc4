// SPDX-License-Identifier: Apache-2.0
//
// Messages to and from a guest over a local socket, each as a whole or not at all. A guest that
// stops in the middle of a message, or does not read, is given up after 20 s of wall-clock time.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "file.h"

namespace orrery::lab {

/// A listening socket for guests, at a path in the file system.
class Listener {
 public:
  /// Throws std::system_error, and std::length_error if the path is too long for a socket.
  explicit Listener(const std::string& path);
  int descriptor() const { return file_.get(); }
  /// Throws GuestError if no guest connects.
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

  /// Throw GuestGone if the guest has closed its end, GuestError if the guest stops in the middle.
  void send(std::span<const std::byte> bytes, std::span<const int> files = {}) const;
  void receive(std::span<std::byte> bytes) const;
  /// Also receives the files that come with the first byte.
  void receive(std::span<std::byte> bytes, std::vector<File>& files) const;

  /// Sends a struct as it lies in memory.
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
