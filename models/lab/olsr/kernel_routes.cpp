// SPDX-License-Identifier: Apache-2.0
#include "kernel_routes.h"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <set>
#include <system_error>
#include <utility>

namespace orrery::lab::olsr {
namespace {

/// Not used by linux/rtnetlink.h and iproute2.
constexpr unsigned char kProtocol = 98;

/// A request about a route, followed by its attributes.
struct Request {
  nlmsghdr header{};
  rtmsg route{};
  std::array<std::uint32_t, 8> attributes{};

  Request(unsigned type, unsigned flags, unsigned number) {
    header.nlmsg_len = NLMSG_LENGTH(sizeof route);
    header.nlmsg_type = static_cast<std::uint16_t>(type);
    header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    header.nlmsg_seq = number;
    route.rtm_family = AF_INET;
    route.rtm_table = RT_TABLE_MAIN;
    route.rtm_protocol = kProtocol;
    route.rtm_type = RTN_UNICAST;
  }
  void add(unsigned short type, std::uint32_t value) {
    const rtattr head{RTA_LENGTH(sizeof value), type};
    const std::size_t at = (header.nlmsg_len - NLMSG_LENGTH(sizeof route)) / sizeof value;
    std::memcpy(&attributes[at], &head, sizeof head);
    attributes[at + 1] = value;
    header.nlmsg_len += static_cast<unsigned>(sizeof head + sizeof value);
  }
};
static_assert(sizeof(Request) == NLMSG_LENGTH(sizeof(rtmsg)) + 32, "a request is what is sent");

int open_netlink(unsigned groups) {
  const int socket = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  const sockaddr_nl address{AF_NETLINK, 0, 0, groups};
  if (socket < 0 || bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::system_error(errno, std::generic_category(), "a socket for the kernel's routes");
  return socket;
}

/// Calls `take` with each message in these bytes.
template <class Take>
void for_each_message(char* bytes, ssize_t count, Take&& take) {
  auto left = static_cast<unsigned>(count);
  for (auto* one = reinterpret_cast<nlmsghdr*>(bytes); NLMSG_OK(one, left);
       one = NLMSG_NEXT(one, left))
    take(*one);
}

/// Destination and metric of a route in a message of the kernel.
std::pair<Network, unsigned> destination_of(std::vector<char>& message) {
  auto* const header = reinterpret_cast<nlmsghdr*>(message.data());
  auto* const route = static_cast<rtmsg*>(NLMSG_DATA(header));
  Network network{{}, route->rtm_dst_len};
  std::uint32_t metric = 0;
  auto left = static_cast<unsigned>(RTM_PAYLOAD(header));
  for (rtattr* one = RTM_RTA(route); RTA_OK(one, left); one = RTA_NEXT(one, left)) {
    if (one->rta_type == RTA_DST) std::memcpy(&network.address.bits, RTA_DATA(one), 4);
    if (one->rta_type == RTA_PRIORITY) std::memcpy(&metric, RTA_DATA(one), sizeof metric);
  }
  network.address.bits = ntohl(network.address.bits);
  return {network, metric};
}

}  // namespace

KernelRoutes::KernelRoutes(std::vector<int> devices) : devices_(std::move(devices)) {
  socket_ = open_netlink(0);
  notices_ = open_netlink(RTMGRP_LINK | RTMGRP_IPV4_IFADDR);
  for (std::vector<char>& route : ours()) remove(route);
}

KernelRoutes::~KernelRoutes() {
  set({});
  close(socket_);
  close(notices_);
}

/// The kernel's routes with our protocol number, as messages. All are read before any is removed,
/// since replies to requests would mix with them.
std::vector<std::vector<char>> KernelRoutes::ours() {
  Request dump(RTM_GETROUTE, NLM_F_DUMP, ++request_);
  if (send(socket_, &dump, dump.header.nlmsg_len, 0) < 0)
    throw std::system_error(errno, std::generic_category(), "asking for the kernel's routes");
  std::vector<std::vector<char>> found;
  alignas(nlmsghdr) std::array<char, 65'536> answer;
  for (bool is_over = false; !is_over;) {
    const ssize_t bytes = recv(socket_, answer.data(), answer.size(), 0);
    if (bytes < 0)
      throw std::system_error(errno, std::generic_category(), "reading the kernel's routes");
    for_each_message(answer.data(), bytes, [&](nlmsghdr& one) {
      is_over |= one.nlmsg_type == NLMSG_DONE || one.nlmsg_type == NLMSG_ERROR;
      if (one.nlmsg_type == RTM_NEWROUTE &&
          static_cast<rtmsg*>(NLMSG_DATA(&one))->rtm_protocol == kProtocol)
        found.emplace_back(reinterpret_cast<char*>(&one),
                           reinterpret_cast<char*>(&one) + one.nlmsg_len);
    });
  }
  return found;
}

/// Removes a route, given by the kernel's message.
void KernelRoutes::remove(std::vector<char>& route) {
  nlmsghdr header;
  std::memcpy(&header, route.data(), sizeof header);
  header.nlmsg_type = RTM_DELROUTE;
  header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  header.nlmsg_seq = ++request_;
  std::memcpy(route.data(), &header, sizeof header);
  ask(route.data(), route.size());
}

/// Whether since the last call one of our interfaces has come up or got an address. Also true if
/// the kernel has dropped notices because there were too many.
bool KernelRoutes::take_notices() {
  bool has_changed = false;
  alignas(nlmsghdr) std::array<char, 65'536> notices;
  for (;;) {
    const ssize_t bytes = recv(notices_, notices.data(), notices.size(), MSG_DONTWAIT);
    if (bytes < 0 && errno != ENOBUFS) return has_changed;
    if (bytes < 0) {
      has_changed = true;
      continue;
    }
    for_each_message(notices.data(), bytes, [&](nlmsghdr& one) {
      const auto* const link = static_cast<ifinfomsg*>(NLMSG_DATA(&one));
      const auto* const address = static_cast<ifaddrmsg*>(NLMSG_DATA(&one));
      has_changed |= one.nlmsg_type == RTM_NEWLINK && (link->ifi_flags & IFF_UP) != 0 &&
                     std::ranges::count(devices_, link->ifi_index) > 0;
      has_changed |= one.nlmsg_type == RTM_NEWADDR &&
                     std::ranges::count(devices_, static_cast<int>(address->ifa_index)) > 0;
    });
  }
}

bool KernelRoutes::look() {
  if (!take_notices()) return false;
  std::set<std::pair<Network, unsigned>> there;
  for (std::vector<char>& route : ours()) there.insert(destination_of(route));
  std::erase_if(set_, [&](const auto& one) {
    return !there.contains({one.first, one.second.hops});
  });
  return true;
}

/// Sends a request and reads the reply. Returns 0 or an error number.
int KernelRoutes::ask(const void* request, std::size_t bytes) {
  if (send(socket_, request, bytes, 0) < 0) return errno;
  alignas(nlmsghdr) std::array<char, 4'096> answer;
  if (recv(socket_, answer.data(), answer.size(), 0) < 0) return errno;
  const auto* const header = reinterpret_cast<const nlmsghdr*>(answer.data());
  if (header->nlmsg_type != NLMSG_ERROR) return EPROTO;
  return -static_cast<const nlmsgerr*>(NLMSG_DATA(header))->error;
}

int KernelRoutes::change(bool add, const Network& network, const Route& route) {
  Request request(add ? RTM_NEWROUTE : RTM_DELROUTE,
                  NLM_F_ACK | (add ? NLM_F_CREATE | NLM_F_REPLACE : 0), ++request_);
  const bool is_direct = network.length == 32 && network.address == route.next;
  request.route.rtm_dst_len = static_cast<unsigned char>(network.length);
  request.route.rtm_scope = is_direct ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
  // The neighbour's address may be outside of all networks of the interface.
  if (!is_direct) request.route.rtm_flags = RTNH_F_ONLINK;
  request.add(RTA_DST, htonl(network.address.bits));
  request.add(RTA_OIF, static_cast<std::uint32_t>(devices_[route.interface]));
  request.add(RTA_PRIORITY, route.hops);
  if (!is_direct) request.add(RTA_GATEWAY, htonl(route.next.bits));
  return ask(&request, request.header.nlmsg_len);
}

std::vector<std::string> KernelRoutes::set(const Routes& routes) {
  std::vector<std::string> refused;
  const Routes before = std::exchange(set_, {});
  for (const auto& [network, route] : routes) {
    const auto old = before.find(network);
    if (old != before.end() && old->second == route) {
      set_.emplace(network, route);
    } else if (const int error = change(true, network, route); error != 0) {
      refused.push_back("the kernel takes no route to " + text(network) + " by " +
                        text(route.next) + ": " + std::strerror(error));
    } else {
      set_.emplace(network, route);
    }
  }
  // The new route has already replaced a route of the same metric.
  for (const auto& [network, route] : before)
    if (const auto now = set_.find(network); now == set_.end() || now->second.hops != route.hops)
      change(false, network, route);
  return refused;
}

}  // namespace orrery::lab::olsr
