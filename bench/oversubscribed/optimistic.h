// SPDX-License-Identifier: Apache-2.0
//
// A small Time Warp (Jefferson: Virtual time, 1985): a rank executes the earliest event that it
// has; before each it keeps its LP's state; what turns out to be wrong is restored, and what it has
// sent is cancelled by antimessages, at once. Rounds of GVT are as ROSS's: all report what they
// have left and how many messages they have sent and received, and wait for each other; who has
// executed so many events since the last, or finds that all have nothing left, begins one. So a
// rank is never further ahead than that many events, which bounds its memory.
#pragma once

#include <deque>
#include <set>
#include <stdexcept>

#include "part.h"
#include "post.h"
#include "way.h"

namespace oversubscribed {

template <class Model>
class Optimistic {
 public:
  Optimistic(const Shared& shared, unsigned rank)
      : shared_(shared),
        setting_(shared.setting()),
        rank_(rank),
        board_(shared.board(rank)),
        part_(setting_, rank),
        post_(shared, rank),
        way_(Way::make(shared, rank)),
        done_(part_.size()) {
    part_.begin([this](const Event& event) { pending_.insert(event); });
  }

  void run() {
    for (;;) {
      const bool whole = exchange();
      if (way_->round_wanted() || since_round_ >= setting_.round) {
        if (round()) break;
      } else if (next_time() < setting_.end) {
        execute();
        way_->safe_point(next_time());
      } else if (!rest(whole)) {
        if (round()) break;
      }
    }
    board_.fingerprint = part_.fingerprint();
  }

 private:
  static constexpr std::int64_t kRoomNs = 1'000'000;

  struct Done {
    Event event;
    Lp<Model> before;
    std::vector<Event> sent;
  };

  Ticks next_time() const { return pending_.empty() ? kNever : pending_.begin()->time; }

  /// False if something still waits for room.
  bool exchange() {
    way_->before_looking();
    const bool any = post_.receive([this](const Event& event) { deliver(event); });
    if (any && resting_) {
      resting_ = false;
      shared_.resting().fetch_sub(1, std::memory_order_relaxed);
    }
    return post_.flush([this](unsigned to, const Event& sent) { way_->announce(to, sent.time); });
  }

  void execute() {
    const Event event = *pending_.begin();
    pending_.erase(pending_.begin());
    const std::size_t lp = part_.index(event);
    done_[lp].push_back({event, part_.lp(lp), {}});
    const std::vector<Event>& sent = part_.execute(event);
    done_[lp].back().sent = sent;
    for (const Event& one : sent) send(one);
    cancel_all();
    ++board_.executed;
    ++since_round_;
  }

  void send(const Event& event) {
    const unsigned to = part_.rank_of(event.lp);
    if (to != rank_) {
      if (post_.send(to, event)) way_->announce(to, event.time);
    } else if (event.cancels != 0) {
      cancelled_.push_back(event);
    } else {
      insert(event);
    }
  }
  void deliver(const Event& event) {
    if (event.cancels != 0)
      cancel(event);
    else
      insert(event);
    cancel_all();
  }

  void insert(const Event& event) {
    const std::size_t lp = part_.index(event);
    if (!done_[lp].empty() && Earlier()(event, done_[lp].back().event)) {
      ++board_.rollbacks;
      roll_back(lp, event);
    }
    pending_.insert(event);
  }
  void cancel(const Event& event) {
    if (pending_.erase(event) != 0) return;
    ++board_.rollbacks;
    roll_back(part_.index(event), event);
    // Rings keep the order, so it was here before its antimessage.
    if (pending_.erase(event) == 0) throw std::logic_error("an antimessage has found no message");
  }
  /// What cancelling within this rank brings with it; not while an LP is being rolled back.
  void cancel_all() {
    while (!cancelled_.empty()) {
      const Event event = cancelled_.back();
      cancelled_.pop_back();
      cancel(event);
    }
  }
  /// Undoes `from` and what is later.
  void roll_back(std::size_t lp, const Event& from) {
    while (!done_[lp].empty() && !Earlier()(done_[lp].back().event, from)) {
      Done undone = std::move(done_[lp].back());
      done_[lp].pop_back();
      part_.lp(lp) = undone.before;
      pending_.insert(undone.event);
      for (Event& sent : undone.sent) {
        sent.cancels = 1;
        send(sent);
      }
    }
  }

  /// False if all ranks have nothing left, as far as we know.
  bool rest(bool whole) {
    if (!resting_) {
      resting_ = true;
      if (shared_.resting().fetch_add(1, std::memory_order_relaxed) + 1 == setting_.ranks)
        return false;
    }
    way_->safe_point(next_time());
    if (!way_->round_wanted()) way_->rest(whole ? Way::kForEver : kRoomNs);
    return true;
  }

  /// True if the run is over.
  bool round() {
    Way::Agreed agreed;
    do {
      exchange();
      agreed = way_->agree(next_time(), post_.sent_minus_received());
    } while (agreed.in_transit != 0);
    since_round_ = 0;
    ++board_.rounds;
    commit_before(agreed.gvt);
    return agreed.gvt >= setting_.end;
  }
  void commit_before(Ticks gvt) {
    std::uint64_t committed = 0;
    for (std::deque<Done>& done : done_)
      while (!done.empty() && done.front().event.time < gvt) {
        done.pop_front();
        ++committed;
      }
    board_.committed.fetch_add(committed, std::memory_order_relaxed);
  }

  const Shared& shared_;
  const Setting& setting_;
  const unsigned rank_;
  Board& board_;
  Part<Model> part_;
  Post post_;
  const std::unique_ptr<Way> way_;
  std::set<Event, Earlier> pending_;
  std::vector<std::deque<Done>> done_;  ///< of each LP, oldest first
  std::vector<Event> cancelled_;
  unsigned since_round_ = 0;
  bool resting_ = false;
};

}  // namespace oversubscribed
