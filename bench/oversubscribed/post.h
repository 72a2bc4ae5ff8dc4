// SPDX-License-Identifier: Apache-2.0
//
// The messages of one rank. What does not fit into a full ring waits with its sender, in order, so
// no rank ever waits for room: two that send to each other would do so for ever.
#pragma once

#include <deque>
#include <vector>

#include "shared.h"

namespace oversubscribed {

class Post {
 public:
  Post(const Shared& shared, unsigned rank)
      : shared_(shared),
        rank_(rank),
        room_(shared.setting().room),
        waiting_(shared.setting().ranks) {}

  /// False if it waits for room.
  bool send(unsigned to, const Event& event) {
    ++sent_minus_received_;
    if (waiting_[to].empty() && put(to, event)) return true;
    waiting_[to].push_back(event);
    ++waiting_count_;
    return false;
  }
  /// Visits the ranks and events for which there is room now. False if some still wait.
  template <class Visit>
  bool flush(Visit&& visit) {
    for (unsigned to = 0; waiting_count_ != 0 && to < waiting_.size(); ++to)
      while (!waiting_[to].empty() && put(to, waiting_[to].front())) {
        visit(to, waiting_[to].front());
        waiting_[to].pop_front();
        --waiting_count_;
      }
    return waiting_count_ == 0;
  }
  /// False if nothing was there.
  template <class Visit>
  bool receive(Visit&& visit) {
    bool any = false;
    for (unsigned first = 0; first < kMostRanks; first += 64) {
      std::atomic<std::uint64_t>& mail = shared_.board(rank_).mail[first / 64];
      if (mail.load(std::memory_order_relaxed) == 0) continue;
      any = true;
      std::uint64_t left = mail.exchange(0, std::memory_order_acquire);
      for (; left != 0; left &= left - 1)
        empty(shared_.ring(first + static_cast<unsigned>(__builtin_ctzll(left)), rank_), visit);
    }
    return any;
  }
  std::int64_t sent_minus_received() const { return sent_minus_received_; }

 private:
  bool put(unsigned to, const Event& event) {
    Ring& ring = shared_.ring(rank_, to);
    const std::uint64_t tail = ring.tail.load(std::memory_order_relaxed);  // only we write it
    if (tail - ring.head.load(std::memory_order_acquire) == room_) return false;
    ring.places[tail % Ring::kRoom] = event;
    ring.tail.store(tail + 1, std::memory_order_release);
    shared_.board(to).mail[rank_ / 64].fetch_or(std::uint64_t{1} << rank_ % 64,
                                                std::memory_order_release);
    return true;
  }
  template <class Visit>
  void empty(Ring& ring, Visit&& visit) {
    const std::uint64_t tail = ring.tail.load(std::memory_order_acquire);
    std::uint64_t head = ring.head.load(std::memory_order_relaxed);  // only we write it
    for (; head != tail; ++head) {
      --sent_minus_received_;
      visit(ring.places[head % Ring::kRoom]);
      ring.head.store(head + 1, std::memory_order_release);
    }
  }

  const Shared& shared_;
  const unsigned rank_;
  const std::uint64_t room_;
  std::vector<std::deque<Event>> waiting_;
  std::size_t waiting_count_ = 0;
  std::int64_t sent_minus_received_ = 0;
};

}  // namespace oversubscribed
