// SPDX-License-Identifier: Apache-2.0
//
// The routes of this object in the kernel of its host: set and removed by rtnetlink(7), marked with
// a protocol number of their own, and removed with this object. When an interface goes down, the
// kernel drops its routes without notice; look() finds out when the interface comes up again.
#pragma once

#include <string>
#include <vector>

#include "routes.h"

namespace orrery::lab::olsr {

class KernelRoutes {
 public:
  /// `devices`: numbers of the interfaces. Removes routes that an earlier process has left. Throws
  /// std::system_error.
  explicit KernelRoutes(std::vector<int> devices);
  ~KernelRoutes();
  KernelRoutes(const KernelRoutes&) = delete;
  KernelRoutes& operator=(const KernelRoutes&) = delete;

  /// Replaces the routes; a new route is set before the old one is removed. Returns messages about
  /// routes that the kernel refused. They are tried again in the next call.
  std::vector<std::string> set(const Routes& routes);

  /// Becomes readable when the kernel sends a notice about interfaces; then call look().
  int descriptor() const { return notices_; }
  /// If an interface has come up or got an address, checks which routes still exist and returns
  /// true. Then set() restores the missing routes.
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
