// SPDX-License-Identifier: Apache-2.0
//
// The table of http_plugin.h on libmicrohttpd. Each connection has a thread, since an answer may
// wait for news. Connections are few and time out when idle, so that idle clients use few
// resources. All connections end with the server.
#include <microhttpd.h>

#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <thread>

#include "live/http_plugin.h"

namespace {

using orrery::live::HttpAnswer;
using orrery::live::HttpAnswerer;
using orrery::live::HttpRequest;

constexpr unsigned kMostConnections = 16, kIdleSeconds = 10;
constexpr std::size_t kConnectionBytes = 8 << 10;  // for the head of a request
constexpr std::size_t kStackBytes = 512 << 10;
constexpr std::size_t kMostUploadBytes = 4 << 10;
constexpr std::chrono::milliseconds kLastAnswers(300), kLook(2);

std::string_view text_of(const char* text) {
  return text == nullptr ? std::string_view() : std::string_view(text);
}

struct Server {
  explicit Server(HttpAnswerer& chosen) : answerer(chosen) {}
  HttpAnswerer& answerer;
  MHD_Daemon* daemon = nullptr;
  /// Requests whose head has come and whose answer is not yet sent. Relaxed: no other data depends
  /// on it.
  std::atomic<unsigned> under_way{0};
};

class Request final : public HttpRequest {
 public:
  Request(MHD_Connection* connection, const char* method, const char* path)
      : connection_(connection), method_(method), path_(path) {}
  std::string_view method() const override { return method_; }
  std::string_view path() const override { return path_; }
  std::string_view header(const char* name) const override {
    return text_of(MHD_lookup_connection_value(connection_, MHD_HEADER_KIND, name));
  }
  std::string_view argument(const char* name) const override {
    return text_of(MHD_lookup_connection_value(connection_, MHD_GET_ARGUMENT_KIND, name));
  }

 private:
  MHD_Connection* const connection_;
  const std::string_view method_, path_;
};

MHD_Result send(MHD_Connection* connection, HttpAnswer answer) {
  MHD_Response* const response = MHD_create_response_from_buffer(
      answer.body.size(), answer.body.data(), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  for (const auto& [name, value] : answer.headers)
    MHD_add_response_header(response, name, value.c_str());
  const MHD_Result sent = MHD_queue_response(connection, answer.status, response);
  MHD_destroy_response(response);
  return sent;
}

/// libmicrohttpd calls this for the head of a request, for each piece of uploaded data, which is
/// dropped, and at the request's end, where it is answered.
MHD_Result handle(void* context, MHD_Connection* connection, const char* path, const char* method,
                  const char*, const char*, std::size_t* upload_bytes, void** of_request) {
  auto& server = *static_cast<Server*>(context);
  if (*of_request == nullptr) {
    *of_request = new (std::nothrow) std::size_t(0);
    if (*of_request == nullptr) return MHD_NO;
    server.under_way.fetch_add(1, std::memory_order_relaxed);
    return MHD_YES;
  }
  if (*upload_bytes > 0) {
    std::size_t& uploaded = *static_cast<std::size_t*>(*of_request);
    uploaded += *upload_bytes;
    *upload_bytes = 0;
    return uploaded <= kMostUploadBytes ? MHD_YES : MHD_NO;
  }
  try {
    return send(connection, server.answerer.answer(Request(connection, method, path)));
  } catch (const std::exception&) {  // out of memory, for instance
    return MHD_NO;                   // the connection is closed
  }
}

void forget(void* context, MHD_Connection*, void** of_request, MHD_RequestTerminationCode) {
  if (*of_request == nullptr) return;
  delete static_cast<std::size_t*>(*of_request);
  *of_request = nullptr;
  static_cast<Server*>(context)->under_way.fetch_sub(1, std::memory_order_relaxed);
}

/// Drops libmicrohttpd's messages about broken connections.
void say_nothing(void*, const char*, va_list) {}

void* start(int socket, HttpAnswerer& answerer) {
  auto server = std::make_unique<Server>(answerer);
  server->daemon = MHD_start_daemon(
      MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL | MHD_USE_ITC |
          MHD_USE_ERROR_LOG,
      0, nullptr, nullptr, handle, server.get(), MHD_OPTION_EXTERNAL_LOGGER, say_nothing, nullptr,
      MHD_OPTION_LISTEN_SOCKET, socket, MHD_OPTION_CONNECTION_LIMIT, kMostConnections,
      MHD_OPTION_CONNECTION_TIMEOUT, kIdleSeconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
      kConnectionBytes, MHD_OPTION_THREAD_STACK_SIZE, kStackBytes, MHD_OPTION_NOTIFY_COMPLETED,
      forget, server.get(), MHD_OPTION_END);
  return server->daemon == nullptr ? nullptr : server.release();
}

/// Lets answers under way be sent for at most kLastAnswers, then ends the server.
void stop(void* handle_of_server) {
  const std::unique_ptr<Server> server(static_cast<Server*>(handle_of_server));
  const auto end = std::chrono::steady_clock::now() + kLastAnswers;
  while (server->under_way.load(std::memory_order_relaxed) > 0 &&
         std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(kLook);
  MHD_stop_daemon(server->daemon);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const orrery::live::HttpPlugin* orrery_http() {
  static const orrery::live::HttpPlugin table = {orrery::live::kHttpPluginVersion, start, stop};
  return &table;
}
