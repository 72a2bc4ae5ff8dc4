// SPDX-License-Identifier: Apache-2.0
//
// Runs independent pieces of the set-up on all cores. Any thread may do any piece. The result does
// not depend on the thread, as each piece writes to its own places.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace traffic {

/// Calls make_worker() once in each thread. It returns a function that does piece i when called
/// with i. The pieces are 0 to `count` - 1.
template <class MakeWorker>
void spread(std::size_t count, const MakeWorker& make_worker) {
  constexpr std::size_t kWorthAThread = 16;
  std::atomic<std::size_t> taken{0};
  const auto take = [&] {
    auto work = make_worker();
    // Relaxed: the counter only gives out numbers; joining the threads orders the results.
    for (std::size_t i; (i = taken.fetch_add(1, std::memory_order_relaxed)) < count;) work(i);
  };
  const std::size_t helpers = std::min<std::size_t>(
      std::max(1u, std::thread::hardware_concurrency()) - 1, count / kWorthAThread);
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < helpers; ++i) threads.emplace_back(take);
  take();
}

}  // namespace traffic
