// SPDX-License-Identifier: Apache-2.0
//
// The yardstick of the other kernels: all LPs in one process.
#pragma once

#include <queue>

#include "part.h"
#include "shared.h"

namespace oversubscribed {

/// The events that a rank will execute, the earliest first. Nothing is ever taken back.
class Pending {
 public:
  void add(const Event& event) { events_.push(event); }
  Ticks first_time() const { return events_.empty() ? kNever : events_.top().time; }
  Event take() {
    const Event event = events_.top();
    events_.pop();
    return event;
  }

 private:
  struct Later {
    bool operator()(const Event& a, const Event& b) const { return Earlier()(b, a); }
  };
  std::priority_queue<Event, std::vector<Event>, Later> events_;
};

template <class Model>
class Sequential {
 public:
  Sequential(const Shared& shared, unsigned rank)
      : board_(shared.board(rank)), end_(shared.setting().end), part_(shared.setting(), rank) {
    part_.begin([this](const Event& event) { pending_.add(event); });
  }

  void run() {
    while (pending_.first_time() < end_) {
      ++board_.executed;
      board_.committed.store(board_.executed, std::memory_order_relaxed);
      for (const Event& sent : part_.execute(pending_.take())) pending_.add(sent);
    }
    board_.fingerprint = part_.fingerprint();
  }

 private:
  Board& board_;
  const Ticks end_;
  Part<Model> part_;
  Pending pending_;
};

}  // namespace oversubscribed
