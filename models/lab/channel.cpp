// SPDX-License-Identifier: Apache-2.0
#include "channel.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "guest_error.h"

namespace orrery::lab {
namespace {

constexpr time_t kPatienceSeconds = 20;
constexpr std::size_t kMostFiles = 8;  ///< that come with one message

File local_socket() {
  File file(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!file.is_open()) throw std::system_error(errno, std::generic_category(), "socket");
  return file;
}

File listen_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    throw std::length_error("a socket cannot lie at " + path + ": its path may have " +
                            std::to_string(sizeof address.sun_path - 1) + " bytes, this has " +
                            std::to_string(path.size()));
  path.copy(address.sun_path, path.size());
  File file = local_socket();
  const auto* const any = reinterpret_cast<const sockaddr*>(&address);
  if (bind(file.get(), any, sizeof address) != 0 || listen(file.get(), 1) != 0)
    throw std::system_error(errno, std::generic_category(), path);
  return file;
}

/// Sets the time for which a call may wait.
void be_patient(int socket, int option) {
  const timeval patience{kPatienceSeconds, 0};
  setsockopt(socket, SOL_SOCKET, option, &patience, sizeof patience);
}

[[noreturn]] void fail() {
  if (errno == EAGAIN || errno == EWOULDBLOCK)
    throw GuestGivenUp("it did not go on with a message for " + std::to_string(kPatienceSeconds) +
                       " s");
  if (errno == EPIPE || errno == ECONNRESET) throw GuestGone();
  throw GuestError(std::string("its channel fails: ") + std::strerror(errno));
}

void take_files(msghdr& message, std::vector<File>& files) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      files.emplace_back(descriptor);
    }
  }
}

}  // namespace

Listener::Listener(const std::string& path) : file_(listen_at(path)) {}

File Listener::accept() const {
  be_patient(file_.get(), SO_RCVTIMEO);
  int socket = -1;
  do {  // a wait with a limit ends when this process is stopped and continued
    socket = accept4(file_.get(), nullptr, nullptr, SOCK_CLOEXEC);
  } while (socket < 0 && errno == EINTR);
  if (socket < 0) throw GuestGivenUp("it did not connect");
  return File(socket);
}

Channel::Channel(File socket) : file_(std::move(socket)) {
  be_patient(file_.get(), SO_RCVTIMEO);
  be_patient(file_.get(), SO_SNDTIMEO);
}

void Channel::send(std::span<const std::byte> bytes, std::span<const int> files) const {
  alignas(cmsghdr) char control[CMSG_SPACE(kMostFiles * sizeof(int))] = {};
  while (!bytes.empty()) {
    iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!files.empty()) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(files.size_bytes());
      cmsghdr* const header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(files.size_bytes());
      std::memcpy(CMSG_DATA(header), files.data(), files.size_bytes());
    }
    const ssize_t sent = sendmsg(file_.get(), &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) fail();
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
    files = {};
  }
}

std::size_t Channel::receive_some(std::span<std::byte> bytes, std::vector<File>* files) const {
  alignas(cmsghdr) char control[CMSG_SPACE(kMostFiles * sizeof(int))];
  iovec part{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (files != nullptr) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
  for (;;) {
    const ssize_t received = recvmsg(file_.get(), &message, MSG_CMSG_CLOEXEC);
    if (received < 0 && errno == EINTR) continue;
    if (received < 0) fail();
    if (received == 0) throw GuestGone();
    if (files != nullptr) take_files(message, *files);
    return static_cast<std::size_t>(received);
  }
}

void Channel::receive(std::span<std::byte> bytes) const {
  using Clock = std::chrono::steady_clock;
  for (const auto begun = Clock::now(); !bytes.empty();) {
    bytes = bytes.subspan(receive_some(bytes, nullptr));
    if (!bytes.empty() && Clock::now() - begun > std::chrono::seconds(kPatienceSeconds)) {
      errno = EAGAIN;
      fail();
    }
  }
}

void Channel::receive(std::span<std::byte> bytes, std::vector<File>& files) const {
  if (bytes.empty()) return;
  bytes = bytes.subspan(receive_some(bytes, &files));
  receive(bytes);
}

}  // namespace orrery::lab
