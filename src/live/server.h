// SPDX-License-Identifier: Apache-2.0
//
// The server of a run's page: a socket on the loopback address, and a shared object that answers on
// it (http_plugin.h).
#pragma once

#include <cstdint>
#include <string>

#include "live/http_plugin.h"

namespace orrery::live {

/// 128 bits that nobody can guess, in hexadecimal digits.
std::string make_token();

class Server {
 public:
  /// Takes the port; 0: one that is free. Nobody is answered yet. Throws UsageError, also where the
  /// shared object is missing.
  explicit Server(std::uint16_t port);
  /// Ends all connections. What answers must not be waiting.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const { return port_; }
  /// `answerer` outlives this. Throws SystemFailure if there is no thread for it.
  void start(HttpAnswerer& answerer);

 private:
  const HttpPlugin& plugin_;
  int socket_ = -1;
  std::uint16_t port_ = 0;
  void* server_ = nullptr;
};

}  // namespace orrery::live
