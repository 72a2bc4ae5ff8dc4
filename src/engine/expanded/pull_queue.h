// SPDX-License-Identifier: Apache-2.0
//
// The hand-over of earlier simulators, for comparison (`--handover pull`): one queue for all
// workers, from which they take events under a mutex, woken by a condition variable; the
// coordinator only schedules. Each event costs two visits of the mutex on either side, and often a
// system call to wake a thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "engine/expanded/executor.h"

namespace orrery::expanded {

class PullQueue {
 public:
  struct Item {
    Event* event;
    std::uint32_t handle;
  };
  struct Finished {
    std::uint32_t handle;
    Result result;
  };

  void put(const Item& item) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(item);
    }
    work_.notify_one();
  }
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    work_.notify_all();
    results_.notify_all();
  }
  /// Called by a worker: waits for an event and takes it. False when the queue is closed and empty.
  bool take(Item& item) {
    std::unique_lock lock(mutex_);
    work_.wait(lock, [this] { return closed_ || !waiting_.empty(); });
    if (waiting_.empty()) return false;
    item = waiting_.front();
    waiting_.pop_front();
    return true;
  }
  void hand_in(const Finished& finished) {
    {
      const std::lock_guard lock(mutex_);
      finished_.push_back(finished);
    }
    results_.notify_one();
  }
  /// Called by the coordinator: appends all results handed in to `out`. `wait`: waits until there
  /// is one or the queue is closed.
  void collect(std::vector<Finished>& out, bool wait) {
    std::unique_lock lock(mutex_);
    if (wait) results_.wait(lock, [this] { return closed_ || !finished_.empty(); });
    out.insert(out.end(), finished_.begin(), finished_.end());
    finished_.clear();
  }

 private:
  std::mutex mutex_;
  std::condition_variable work_, results_;
  std::deque<Item> waiting_;
  std::vector<Finished> finished_;
  bool closed_ = false;
};

}  // namespace orrery::expanded
