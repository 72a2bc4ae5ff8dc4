// SPDX-License-Identifier: Apache-2.0
//
// A small HTTP server as a shared object, loaded only for --live. The command does not link
// libmicrohttpd and its dependencies, since loading them would take 10 ms in each run, also in the
// thousands of runs of a study; and so the command starts on machines without them. http/plugin.cpp
// is the shared object. Both must be of the same build.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orrery::live {

/// A request. Texts are valid only during the call of `answer`; empty: not in the request.
class HttpRequest {
 public:
  virtual std::string_view method() const = 0;
  virtual std::string_view path() const = 0;
  virtual std::string_view header(const char* name) const = 0;
  virtual std::string_view argument(const char* name) const = 0;

 protected:
  ~HttpRequest() = default;
};

struct HttpAnswer {
  unsigned status = 200;
  std::string body;
  std::vector<std::pair<const char*, std::string>> headers;
};

class HttpAnswerer {
 public:
  /// Called by several threads at once, one for each connection; the call may wait.
  virtual HttpAnswer answer(const HttpRequest& request) = 0;

 protected:
  ~HttpAnswerer() = default;
};

inline constexpr int kHttpPluginVersion = 1;

struct HttpPlugin {
  int version;  ///< kHttpPluginVersion when the plugin was compiled
  /// Serves connections to the listening socket, which it takes over. `answerer` must outlive the
  /// server. Returns nullptr if the system has no threads for the server; then the socket stays the
  /// caller's.
  void* (*start)(int socket, HttpAnswerer& answerer);
  /// Closes all connections and ends all threads. No call of `answer` may be waiting.
  void (*stop)(void* server);
};

/// The function that the shared object exports as "orrery_http".
using HttpPluginTable = const HttpPlugin* (*)();

}  // namespace orrery::live
