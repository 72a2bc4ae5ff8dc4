// SPDX-License-Identifier: Apache-2.0
//
// The server of the live page: a socket on the loopback address, and a shared object that serves it
// (http_plugin.h).
#pragma once

#include <cstdint>
#include <string>

#include "live/http_plugin.h"

namespace orrery::live {

/// 128 random bits, in hexadecimal digits.
std::string make_token();

class Server {
 public:
  /// Takes the port; 0: any free port. Requests are answered only after start(). Throws UsageError,
  /// also if the shared object is missing.
  explicit Server(std::uint16_t port);
  /// Ends all connections. No call of the answerer may be waiting.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const { return port_; }
  /// `answerer` must outlive this object. Throws SystemFailure if there is no thread for the
  /// server.
  void start(HttpAnswerer& answerer);

 private:
  const HttpPlugin& plugin_;
  int socket_ = -1;
  std::uint16_t port_ = 0;
  void* server_ = nullptr;
};

}  // namespace orrery::live
