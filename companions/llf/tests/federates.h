// SPDX-License-Identifier: Apache-2.0
//
// Federates in processes of their own, and memory that they share with the test.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "orrery/llf.h"

namespace orrery::testing {

/// A group's name that no other test and no other run of this one has.
inline std::string own_group() {
  return std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + "." +
         std::to_string(getpid());
}

/// Made before the processes, so all of them have it.
template <class T>
class InSharedMemory {
 public:
  InSharedMemory()
      : at_(new (mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                      0)) T()) {}
  InSharedMemory(const InSharedMemory&) = delete;
  InSharedMemory& operator=(const InSharedMemory&) = delete;
  ~InSharedMemory() { munmap(at_, sizeof(T)); }
  T* operator->() const { return at_; }
  T& operator*() const { return *at_; }

 private:
  T* at_;
};

/// Processes that end with 0 if `life` has returned true.
class Processes {
 public:
  Processes() = default;
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  ~Processes() {
    for (const pid_t process : processes_)
      if (process > 0) kill(process, SIGKILL), waitpid(process, nullptr, 0);
  }

  void start(const std::function<bool()>& life) {
    const pid_t process = fork();
    if (process == 0) {
      const bool well = life();
      if (!well) std::fprintf(stderr, "llf: %s\n", llf_error());
      _exit(well ? 0 : 1);
    }
    processes_.push_back(process);
  }
  pid_t operator[](std::size_t index) const { return processes_[index]; }
  /// The number of those that did not end as they should.
  int failed() {
    int count = 0;
    for (std::size_t i = 0; i < processes_.size(); ++i)
      if (processes_[i] > 0 && end_of(i) != 0) ++count;
    return count;
  }
  /// How a process ended, as waitpid says it.
  int end_of(std::size_t index) {
    int status = -1;
    waitpid(processes_[index], &status, 0);
    processes_[index] = 0;
    return status;
  }

 private:
  std::vector<pid_t> processes_;
};

inline llf_options options(unsigned tokens, unsigned slots = 0) {
  return {.size = sizeof(llf_options), .tokens = tokens, .slots = slots, .hold_ns = -1};
}

/// Sleeps until `holds()`, which the other processes bring about.
inline void await(const std::function<bool()>& holds) {
  while (!holds()) usleep(1000);
}

}  // namespace orrery::testing
