// SPDX-License-Identifier: Apache-2.0
#include "spread.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <system_error>

#include "orrery/error.h"

namespace orrery::lab {

Spread::Spread(const std::string& file, std::size_t hosts)
    : times_(hosts),
      file_(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644)) {
  constexpr std::string_view kHead = "wall_ns,least_ns,most_ns\n";
  if (!file_.is_open() || write(file_.get(), kHead.data(), kHead.size()) < 0)
    throw UsageError("--set spread=: '" + file + "' cannot be written: " + std::strerror(errno));
  for (auto& time : times_) time.store(kIdle, std::memory_order_relaxed);
}

void Spread::executed(std::size_t host, std::int64_t until) {
  times_[host].store(until, std::memory_order_relaxed);
  write_line();
}

void Spread::idle(std::size_t host) {
  times_[host].store(kIdle, std::memory_order_relaxed);
}

/// Writes by one system call, so that workers need not wait for each other: O_APPEND puts lines one
/// after the other. Allocates no memory, since memory allocated now would belong to the running LP.
void Spread::write_line() {
  std::int64_t least = INT64_MAX, most = kIdle;
  for (const auto& one : times_) {
    const std::int64_t time = one.load(std::memory_order_relaxed);
    if (time == kIdle) continue;
    least = std::min(least, time);
    most = std::max(most, time);
  }
  if (most == kIdle) return;  // another worker's host has just become idle
  const auto wall = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::steady_clock::now() - begin_);
  char line[80];
  const int length =
      std::snprintf(line, sizeof line, "%lld,%lld,%lld\n", static_cast<long long>(wall.count()),
                    static_cast<long long>(least), static_cast<long long>(most));
  if (write(file_.get(), line, static_cast<std::size_t>(length)) != length)
    throw ModelFault(std::string("the file of --set spread= cannot be written: ") +
                     std::strerror(errno));
}

}  // namespace orrery::lab
