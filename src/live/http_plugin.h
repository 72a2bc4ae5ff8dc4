// SPDX-License-Identifier: Apache-2.0
//
// A small HTTP server as a shared object that is loaded when it is wanted. The command links
// neither libmicrohttpd nor what that brings along, since loading them takes each run, also the
// thousands of a study, ten milliseconds; and it starts where they are not installed.
// http/plugin.cpp is the shared object. Both ends are the same build.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orrery::live {

/// What is asked for. Texts last as long as the call that is given this; empty: not there.
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
  /// By several threads at once, one for each connection; it may wait.
  virtual HttpAnswer answer(const HttpRequest& request) = 0;

 protected:
  ~HttpAnswerer() = default;
};

inline constexpr int kHttpPluginVersion = 1;

struct HttpPlugin {
  int version;  ///< kHttpPluginVersion of those who compiled it
  /// Serves those who connect to the listening socket, which it takes over. `answerer` outlives the
  /// server. nullptr if the system has no threads for it; then the socket stays the caller's.
  void* (*start)(int socket, HttpAnswerer& answerer);
  /// Closes all connections and ends all threads. No call of `answer` must be waiting.
  void (*stop)(void* server);
};

/// What the shared object exports as "orrery_http".
using HttpPluginTable = const HttpPlugin* (*)();

}  // namespace orrery::live
