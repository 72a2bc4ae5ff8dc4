// SPDX-License-Identifier: Apache-2.0
#include "live/server.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

#include "core/plugin_file.h"
#include "orrery/error.h"
#include "run/threads/supervised_run.h"

namespace orrery::live {
namespace {

constexpr const char* kPlugin = "orrery-live.so";
constexpr int kBacklog = 16;

/// Never unloaded, since its dependencies do not support unloading.
const HttpPlugin& load_plugin() {
  const std::string path = plugin_file(kPlugin);
  if (path.empty())
    throw UsageError(
        fmt::format("--live needs {}, and orrery was built without it: install the package "
                    "libmicrohttpd-dev and build again",
                    kPlugin));
  void* const object = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr)
    throw UsageError(
        fmt::format("--live: the system cannot load {} (install the package libmicrohttpd12)",
                    std::string(dlerror())));
  const auto table = reinterpret_cast<HttpPluginTable>(dlsym(object, "orrery_http"));
  if (table == nullptr || table()->version != kHttpPluginVersion)
    throw UsageError(path + " belongs to another version of orrery: build both together");
  return *table();
}

[[noreturn]] void refuse(std::uint16_t port, int error) {
  const std::string what =
      port == 0 ? "a port" : fmt::format("port {} of the loopback address", port);
  throw UsageError(fmt::format("--live cannot have {}: {}{}", what,
                               std::generic_category().message(error),
                               port == 0 ? "" : "; --live without a number takes a free one"));
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// SO_REUSEADDR, so that a port that was used a moment ago can be used again.
int listen_on(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) refuse(port, errno);
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const sockaddr_in address = loopback(port);
  if (bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      listen(socket, kBacklog) == 0)
    return socket;
  const int error = errno;
  close(socket);
  refuse(port, error);
}

std::uint16_t port_of(int socket) {
  sockaddr_in address{};
  socklen_t bytes = sizeof address;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &bytes) != 0) refuse(0, errno);
  return ntohs(address.sin_port);
}

/// Blocks signals in threads that start during its lifetime, so that they take none from other
/// threads.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&all, crash);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

std::string make_token() {
  std::array<unsigned char, 16> bytes{};
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t more = getrandom(bytes.data() + filled, bytes.size() - filled, 0);
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) throw SystemFailure("the system gives no random bytes for --live");
    filled += static_cast<std::size_t>(more);
  }
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

Server::Server(std::uint16_t port) : plugin_(load_plugin()), socket_(listen_on(port)) {
  port_ = port_of(socket_);
}

Server::~Server() {
  if (server_ != nullptr)
    plugin_.stop(server_);
  else
    close(socket_);
}

void Server::start(HttpAnswerer& answerer) {
  const NoSignals none;
  server_ = plugin_.start(socket_, answerer);
  if (server_ == nullptr) throw SystemFailure("the system has no thread for the server of --live");
}

}  // namespace orrery::live
