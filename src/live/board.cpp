// SPDX-License-Identifier: Apache-2.0
#include "live/board.h"

#include <algorithm>
#include <utility>

namespace orrery::live {
namespace {

using namespace std::chrono_literals;

constexpr auto kNewsPeriod = 1s;
constexpr auto kShortestBetweenLooks = 1s;
// Half a percent of the time, and as much for costs that are not measured: answers, and cold caches
// after a halt.
constexpr double kTimesTheCost = 200;
constexpr auto kReaderIsGone = 3s;      // a reader that has not asked for so long is gone
constexpr auto kPatienceAtEnd = 300ms;  // for readers between two requests

}  // namespace

const char* phase_text(Phase phase) {
  switch (phase) {
    case Phase::starting:
      return "starting";
    case Phase::running:
      return "running";
    case Phase::stopping:
      return "stopping";
    case Phase::ended:
      return "ended";
  }
  return "";
}

void Board::attach(Watch& watch, bool looks) {
  const std::lock_guard lock(mutex_);
  watch_ = &watch;
  looks_ = looks;
  phase_ = Phase::running;
  look_due_ = Clock::now() + kShortestBetweenLooks;
  changed_.notify_all();
}

void Board::detach() {
  const std::lock_guard lock(mutex_);
  if (watch_ != nullptr) points_ = watch_->so_far();
  watch_ = nullptr;
}

void Board::put(Look look, double cost_seconds) {
  auto shared = std::make_shared<const Look>(std::move(look));
  const auto pause = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(kTimesTheCost * cost_seconds));
  const std::lock_guard lock(mutex_);
  look_ = std::move(shared);
  look_due_ = Clock::now() + std::max<Clock::duration>(kShortestBetweenLooks, pause);
}

void Board::end(Ending ending, std::vector<ProgressPoint> points) {
  auto shared = std::make_shared<const Ending>(std::move(ending));
  const std::lock_guard lock(mutex_);
  points_ = std::move(points);
  ending_ = std::move(shared);
  phase_ = Phase::ended;
  changed_.notify_all();
}

bool Board::is_read(Clock::time_point now) const {
  return asked_ != Clock::time_point::min() && now - asked_ < kReaderIsGone;
}

void Board::dismiss() {
  std::unique_lock lock(mutex_);
  if (ending_ && is_read(Clock::now()))
    changed_.wait_for(lock, kPatienceAtEnd, [this] { return told_end_ && waiting_ == 0; });
  dismissed_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return waiting_ == 0; });
}

View Board::view() {
  const std::lock_guard lock(mutex_);
  asked_ = Clock::now();
  if (watch_ != nullptr) {
    points_ = watch_->so_far();
    if (watch_->signal() != 0) phase_ = Phase::stopping;  // requested from anywhere
  }
  if (!points_.empty() && phase_ != Phase::ended) {
    const ProgressPoint& now = points_.back();
    meter_.add(
        {now.wall_seconds, now.simulated_seconds, now.committed, now.executed, now.memory_bytes});
  }
  told_end_ = told_end_ || phase_ == Phase::ended;
  if (told_end_) changed_.notify_all();
  return {phase_, points_, meter_, look_, ending_};
}

void Board::wait_for_news() {
  std::unique_lock lock(mutex_);
  const Phase then = phase_;
  if (then == Phase::ended || dismissed_) return;
  ++waiting_;
  changed_.wait_for(lock, kNewsPeriod, [&] { return phase_ != then || dismissed_; });
  --waiting_;
  changed_.notify_all();
}

bool Board::stop() {
  const std::lock_guard lock(mutex_);
  if (watch_ == nullptr) return false;
  phase_ = Phase::stopping;
  watch_->request_stop();
  changed_.notify_all();
  return true;
}

void Board::ask_for_look() {
  const std::lock_guard lock(mutex_);
  if (!looks_ || watch_ == nullptr || Clock::now() < look_due_) return;
  look_due_ = Clock::time_point::max();  // until the look is there
  control_.request_halt(control_.look_at_halt);
}

}  // namespace orrery::live
