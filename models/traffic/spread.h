// SPDX-License-Identifier: Apache-2.0
//
// Independent pieces of the set-up on all cores. Who does which piece is chance; what comes of it
// is not, as each piece writes places of its own.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace traffic {

/// make_worker() is called once for each thread and gives what does piece i when called with i, for
/// i below `count`.
template <class MakeWorker>
void spread(std::size_t count, const MakeWorker& make_worker) {
  constexpr std::size_t kWorthAThread = 16;
  std::atomic<std::size_t> taken{0};
  const auto take = [&] {
    auto work = make_worker();
    // Relaxed: the counter only hands out numbers; the end of the threads orders the results.
    for (std::size_t i; (i = taken.fetch_add(1, std::memory_order_relaxed)) < count;) work(i);
  };
  const std::size_t helpers = std::min<std::size_t>(
      std::max(1u, std::thread::hardware_concurrency()) - 1, count / kWorthAThread);
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < helpers; ++i) threads.emplace_back(take);
  take();
}

}  // namespace traffic
