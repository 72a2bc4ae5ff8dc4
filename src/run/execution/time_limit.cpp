// SPDX-License-Identifier: Apache-2.0
#include "run/execution/time_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace orrery {
namespace {

double seconds_in(const RunOptions& options) {
  return static_cast<double>(options.get(event_time_limit_option())) / 1e6;
}

}  // namespace

EventTimeLimit::EventTimeLimit(const RunOptions& options, WatchedThreads& threads)
    : threads_(threads),
      seconds_(seconds_in(options)),
      crash_(overtime(fmt::format("{} s", seconds_))),
      clock_(threads) {
  if (seconds_ > 0) thread_ = std::thread([this] { watch(); });
}

EventTimeLimit::~EventTimeLimit() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void EventTimeLimit::watch() {
  for (std::unique_lock lock(mutex_); !ended_;) {
    lock.unlock();
    const Clock::duration pause = look();
    lock.lock();
    wake_.wait_for(lock, pause, [this] { return ended_; });
  }
}

/// Returns the time until the next look.
EventTimeLimit::Clock::duration EventTimeLimit::look() {
  constexpr double kPatienceSeconds = 1, kMostSeconds = 0.1, kLooks = 8;
  constexpr std::chrono::milliseconds kSoon{1};
  const std::optional<LongHandler> handler = clock_.look();
  if (!handler || !handler->code.of_lp || handler->seconds < seconds_) {
    const std::chrono::duration<double> usual(std::min(seconds_ / kLooks, kMostSeconds));
    return std::chrono::duration_cast<Clock::duration>(usual);
  }
  const bool at_last = handler->seconds > seconds_ + kPatienceSeconds;
  // After a drop the time begins anew, as the same event may be executed again.
  if (threads_.end(*handler->thread, {handler->code, &crash_, at_last})) clock_.forget();
  return kSoon;
}

}  // namespace orrery
