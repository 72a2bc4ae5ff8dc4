// SPDX-License-Identifier: Apache-2.0
#include "director/net/control.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <utility>

#include "orrery/error.h"

namespace orrery::director {
namespace {

constexpr std::size_t kLongestLine = 4096, kMostConnections = 8;
constexpr unsigned kMostCalls = 50;  // of serve(), in which a line must come
constexpr std::string_view kOk = "ok\n", kRefused = "refused\n";

std::string path_of(const std::string& folder) {
  return folder + "/control";
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    throw UsageError(
        fmt::format("the path '{}' is too long for a socket; a path may have {} letters", path,
                    sizeof address.sun_path - 1));
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

std::vector<ControlWord> words_of(const std::string& line) {
  std::vector<ControlWord> words;
  std::istringstream text(line);
  for (std::string word; text >> word;) {
    const std::size_t equals = word.find('=');
    words.push_back(
        {word.substr(0, equals), equals == std::string::npos ? "" : word.substr(equals + 1)});
  }
  return words;
}

}  // namespace

ControlServer::ControlServer(const std::string& folder) : path_(path_of(folder)) {
  const sockaddr_un address = address_of(path_);
  socket_ = Descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  unlink(path_.c_str());
  const mode_t before = umask(0177);
  const bool is_bound =
      bind(socket_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  umask(before);
  if (!is_bound || listen(socket_.number(), kMostConnections) != 0)
    throw UsageError(
        fmt::format("the socket '{}' cannot be made: {}", path_, std::strerror(errno)));
}

ControlServer::~ControlServer() {
  unlink(path_.c_str());
}

void ControlServer::serve(const std::function<std::string(std::span<const ControlWord>)>& answer) {
  while (connections_.size() < kMostConnections) {
    Descriptor one(accept4(socket_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!one) break;
    connections_.push_back({.socket = std::move(one), .line = {}});
  }
  std::erase_if(connections_, [&](Connection& one) { return serve(one, answer); });
}

/// True if the connection is done.
bool ControlServer::serve(
    Connection& connection,
    const std::function<std::string(std::span<const ControlWord>)>& answer) const {
  std::array<char, kLongestLine> text;
  const ssize_t got = recv(connection.socket.number(), text.data(), text.size(), 0);
  if (got > 0) connection.line.append(text.data(), static_cast<std::size_t>(got));
  const std::size_t end = connection.line.find('\n');
  if (end == std::string::npos)
    return got == 0 || connection.line.size() >= kLongestLine || ++connection.calls > kMostCalls;
  std::string reply;
  try {
    reply = fmt::format("{}{}", kOk, answer(words_of(connection.line.substr(0, end))));
  } catch (const UsageError& error) {
    reply = fmt::format("{}{}", kRefused, error.what());
  }
  send(connection.socket.number(), reply.data(), reply.size(), MSG_NOSIGNAL);
  return true;
}

std::string ask_director(const std::string& folder, std::span<const std::string> words) {
  const sockaddr_un address = address_of(path_of(folder));
  const Descriptor connection(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  constexpr timeval kPatience{.tv_sec = 10, .tv_usec = 0};
  setsockopt(connection.number(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  if (connect(connection.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
      0)
    throw UsageError(
        fmt::format("no director runs in '{}' ({}); 'orrery director net' names its "
                    "folder when it starts",
                    folder, std::strerror(errno)));
  const std::string line = fmt::format("{}\n", fmt::join(words, " "));
  send(connection.number(), line.data(), line.size(), MSG_NOSIGNAL);
  std::string reply;
  std::array<char, 65536> text;
  for (ssize_t got = 0; (got = recv(connection.number(), text.data(), text.size(), 0)) > 0;)
    reply.append(text.data(), static_cast<std::size_t>(got));
  if (reply.starts_with(kOk)) return reply.substr(kOk.size());
  if (reply.starts_with(kRefused)) throw UsageError(reply.substr(kRefused.size()));
  throw UsageError(fmt::format("the director in '{}' does not answer", folder));
}

}  // namespace orrery::director
