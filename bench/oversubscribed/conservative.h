// SPDX-License-Identifier: Apache-2.0
//
// A conservative kernel: promises on boards (Chandy, Misra, Bryant, with null messages as stores).
// A rank executes what lies before the lowest clock of the others and the interval that all promise (the
// model's lookahead or a part of it), then moves its own clock on, and looks again.
#pragma once

#include "post.h"
#include "sequential.h"
#include "way.h"

namespace oversubscribed {

template <class Model>
class Conservative {
 public:
  Conservative(const Shared& shared, unsigned rank)
      : shared_(shared),
        setting_(shared.setting()),
        rank_(rank),
        interval_(std::max(Ticks{1}, Model::kLookahead * setting_.interval / 100)),
        board_(shared.board(rank)),
        part_(setting_, rank),
        post_(shared, rank),
        way_(Way::make(shared, rank)) {
    part_.begin([this](const Event& event) { pending_.add(event); });
  }

  void run() {
    Ticks clock = 0;
    while (clock < setting_.end) {
      way_->before_looking();
      const Ticks safe = look();
      bool sent = execute_before(std::min(safe, setting_.end));
      // A promise holds with what was sent before it, so it waits for that.
      const bool whole = post_.flush([&](unsigned, const Event&) { sent = true; });
      const Ticks now = whole ? std::min(pending_.first_time(), safe) : clock;
      if (now == clock && !sent) {
        way_->rest(whole ? Way::kForEver : kRoomNs);
        continue;
      }
      clock = now;
      board_.clock.store(clock >= setting_.end ? kNever : clock, std::memory_order_release);
      for (unsigned i = 0; i < setting_.ranks; ++i)
        if (i != rank_) way_->announce(i, clock);
      way_->safe_point(clock);
    }
    board_.fingerprint = part_.fingerprint();
  }

 private:
  static constexpr std::int64_t kRoomNs = 1'000'000;

  /// Before which time nothing can come any more, once the rings have been emptied.
  Ticks look() {
    Ticks lowest = kNever - interval_;
    for (unsigned i = 0; i < setting_.ranks; ++i)
      if (i != rank_)
        lowest = std::min(lowest, shared_.board(i).clock.load(std::memory_order_acquire));
    post_.receive([this](const Event& event) { pending_.add(event); });
    return lowest + interval_;
  }

  /// Whether another rank finds something new.
  bool execute_before(Ticks bound) {
    bool any = false;
    while (pending_.first_time() < bound) {
      ++board_.executed;
      for (const Event& sent : part_.execute(pending_.take())) {
        const unsigned to = part_.rank_of(sent.lp);
        if (to == rank_) {
          pending_.add(sent);
        } else {
          any |= post_.send(to, sent);
        }
      }
    }
    board_.committed.store(board_.executed, std::memory_order_relaxed);
    return any;
  }

  const Shared& shared_;
  const Setting& setting_;
  const unsigned rank_;
  const Ticks interval_;
  Board& board_;
  Part<Model> part_;
  Post post_;
  const std::unique_ptr<Way> way_;
  Pending pending_;
};

}  // namespace oversubscribed
