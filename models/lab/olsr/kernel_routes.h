// SPDX-License-Identifier: Apache-2.0
//
// The routes of this host's kernel that are ours: set and removed by rtnetlink(7), told apart from
// others by a protocol number of their own, gone with this object. The kernel drops routes, and
// says nothing of them, when an interface goes down; when it comes up again they are missed.
#pragma once

#include <string>
#include <vector>

#include "routes.h"

namespace orrery::lab::olsr {

class KernelRoutes {
 public:
  /// `devices`: numbers of the interfaces. What an earlier process has left is removed. Throws
  /// std::system_error.
  explicit KernelRoutes(std::vector<int> devices);
  ~KernelRoutes();
  KernelRoutes(const KernelRoutes&) = delete;
  KernelRoutes& operator=(const KernelRoutes&) = delete;

  /// Makes them these; a new route is there before the old one goes. Returns sentences on those
  /// that the kernel did not take; they are tried again the next time.
  std::vector<std::string> set(const Routes& routes);

  /// Can be read when the kernel says something of interfaces: then look().
  int descriptor() const { return notices_; }
  /// Finds out which routes are still there, if an interface has come up or got an address. True if
  /// so: those that are gone are there again after set().
  bool look();

 private:
  bool take_notices();
  std::vector<std::vector<char>> ours();
  int change(bool add, const Network& network, const Route& route);
  int ask(const void* request, std::size_t bytes);
  void remove(std::vector<char>& route);

  const std::vector<int> devices_;
  int socket_ = -1, notices_ = -1;
  unsigned request_ = 0;
  Routes set_;
};

}  // namespace orrery::lab::olsr
