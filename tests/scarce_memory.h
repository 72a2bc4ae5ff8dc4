// SPDX-License-Identifier: Apache-2.0
//
// Makes the system refuse memory, for tests of what is done then. Not under sanitizers, which need
// the address space.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace orrery::testing {

/// As long as it exists, the process can get this much more address space and no more.
class ScarceMemory {
 public:
  explicit ScarceMemory(rlim_t bytes) {
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    getrlimit(RLIMIT_AS, &before_);
    rlimit scarce = before_;
    scarce.rlim_cur = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + bytes;
    setrlimit(RLIMIT_AS, &scarce);
  }
  ~ScarceMemory() { setrlimit(RLIMIT_AS, &before_); }
  ScarceMemory(const ScarceMemory&) = delete;
  ScarceMemory& operator=(const ScarceMemory&) = delete;

 private:
  rlimit before_;
};

}  // namespace orrery::testing
