// SPDX-License-Identifier: Apache-2.0
//
// What the ranks of a run talk through: parcels with credits, collectives that wait for nobody, and
// exchanges that do wait, for the time when a run is set up and when it ends. The back-end is a
// wire (wire.h).
//
// Threads. MPI wants its calls one at a time, and a thread of its own for them would take a core
// from a worker. So whoever has time moves things on: a worker between two batches tries the lock
// (`try_progress`); if another has it, that one does the same work, and there is nothing to wait
// for. What a worker sends it *posts*, which takes one exchange and no lock; the next one to make
// progress forwards it. Nobody waits for the lock but in the blocking exchanges.
//
// Credits. A rank may have so many bytes on the way to another one, in each lane that has credit;
// what is beyond waits at the sender, in order. Bytes are given back by whoever took the parcel, as
// soon as it is in memory that counts elsewhere. They do not depend on what a simulation commits,
// so credit always comes back. A parcel that is larger than all credit goes when nothing else is on
// the way. `is_short_of_credit` lets an engine slow down.
//
// Collectives are made of messages, on any back-end: sums and minima of a few words, and the one
// that combines is the caller's. Few ranks tell each other, which takes one hop; more of them make
// a tree (four children each, rank 0 at the root), which takes two hops a level.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transport/ranks/parcel.h"
#include "transport/ranks/wire.h"

namespace orrery::transport {

class Reduction;

class RankTransport {
 public:
  static constexpr std::size_t kCreditBytes = std::size_t{4} << 20;

  /// All ranks make theirs at the same time: it waits for them, and learns their hosts' names.
  explicit RankTransport(std::unique_ptr<Wire> wire, std::size_t credit_bytes = kCreditBytes);
  RankTransport(const RankTransport&) = delete;
  RankTransport& operator=(const RankTransport&) = delete;
  ~RankTransport();

  unsigned rank() const { return rank_; }
  unsigned ranks() const { return ranks_; }
  const std::string& host(unsigned rank) const { return hosts_[rank]; }
  /// "rank 1 on host a"
  std::string place(unsigned rank) const;
  /// Ranks on this one's host, and which of them it is.
  unsigned ranks_on_host() const { return ranks_on_host_; }
  unsigned index_on_host() const { return index_on_host_; }
  std::string back_end() const { return wire_->name(); }
  bool looks_are_cheap() const { return looks_are_cheap_; }
  /// A name that only the ranks on this host have, which ask for it equally often: another each
  /// time. By one thread.
  std::string next_group() { return group_ + "." + std::to_string(groups_++); }

  // ---- By any thread

  /// Takes a parcel that is to go, in order with those that this thread posts.
  void post(unsigned to, Lane lane, Parcel parcel);
  /// Moves on what can be moved, unless another thread is at it. Returns whether anything came or
  /// went.
  bool try_progress();
  /// Whether more waits for credit to that rank than is on the way. A statistic: relaxed.
  bool is_short_of_credit(unsigned to, Lane lane) const {
    return waiting_bytes(to, lane).load(std::memory_order_relaxed) > 0;
  }
  /// Bytes that wait for credit, the same.
  std::uint64_t waiting(unsigned to, Lane lane) const {
    return waiting_bytes(to, lane).load(std::memory_order_relaxed);
  }
  /// The run cannot go on: ends it on all ranks, as far as the back-end can.
  void abandon(int code) noexcept { wire_->abandon(code); }

  // ---- By whoever holds the lock

  std::mutex& mutex() { return mutex_; }
  /// Where parcels of a lane go: receive(from, parcel), called by whoever makes progress, who holds
  /// the lock. Without one they are kept until there is one.
  using Receive = std::function<void(unsigned from, Parcel parcel)>;
  void receive_with(Lane lane, Receive receive);
  void send(unsigned to, Lane lane, Parcel parcel);
  /// Credit for a parcel of that rank.
  void give_back(unsigned from, Lane lane, std::uint64_t bytes);
  /// Sends what was posted.
  void forward_posted();
  bool progress();
  /// What is sent in between goes together.
  void hold() { wire_->hold(); }
  void flush() { wire_->flush(); }
  /// Ranks that were sent something since the last call: visit(rank, urgent), urgent if it was more
  /// than what credit is for.
  template <class Visit>
  void take_sent(Visit&& visit) {
    if (!std::exchange(has_sent_, false)) return;
    for (unsigned to = 0; to < ranks_; ++to)
      if (const std::uint8_t what = std::exchange(sent_[to], kNothing); what != kNothing)
        visit(to, what == kUrgent);
  }
  /// Ranks next to this one in the tree of collectives: who tells something to these, and they to
  /// theirs, tells it to all.
  template <class Visit>
  void for_each_neighbour(Visit&& visit) const {
    if (rank_ > 0) visit(parent());
    for (unsigned child = first_child(); child < end_child(); ++child) visit(child);
  }

  // ---- By one thread, while no other uses this object: all ranks call them in the same order, and
  // they wait for the others

  /// The parcels of all ranks, by rank, at rank 0; nothing elsewhere.
  std::vector<Parcel> gather(Parcel own);
  /// The same everywhere.
  std::vector<Parcel> gather_everywhere(Parcel own);
  /// Lets progress be made until `done()`, which is called with the lock held.
  void wait_until(const std::function<bool()>& done);
  /// All have come here, and all that was sent has arrived: from now on any of them may go.
  void part();

 private:
  friend class Reduction;
  static constexpr std::size_t kCreditLanes = 2;
  static constexpr unsigned kChildren = 4;
  static constexpr unsigned kFewRanks = 8;
  enum Kind : std::uint8_t { kCredit, kUp, kDown, kAcross };

  struct Posted {
    unsigned to;
    Parcel parcel;
    Posted* next;
  };
  /// Of one lane to one rank.
  struct Outgoing {
    std::deque<Parcel> waiting;
    std::uint64_t on_the_way = 0;                 ///< bytes without credit yet
    std::atomic<std::uint64_t> waiting_bytes{0};  ///< written with the lock held
  };
  struct Incoming {
    std::uint64_t owed = 0;  ///< credit that was not given back yet
  };

  unsigned parent() const { return (rank_ - 1) / kChildren; }
  unsigned first_child() const { return std::min(ranks_, rank_ * kChildren + 1); }
  unsigned end_child() const { return std::min(ranks_, rank_ * kChildren + kChildren + 1); }
  static bool has_credit(Lane lane) { return lane == Lane::events || lane == Lane::rows; }
  static std::size_t credit_index(Lane lane) { return lane == Lane::events ? 0 : 1; }
  Outgoing& outgoing(unsigned to, Lane lane) {
    return outgoing_[to * kCreditLanes + credit_index(lane)];
  }
  Incoming& incoming(unsigned from, Lane lane) {
    return incoming_[from * kCreditLanes + credit_index(lane)];
  }
  const std::atomic<std::uint64_t>& waiting_bytes(unsigned to, Lane lane) const {
    return outgoing_[to * kCreditLanes + credit_index(lane)].waiting_bytes;
  }

  enum Sent : std::uint8_t { kNothing, kCredited, kUrgent };

  void meet();
  void put_on_wire(unsigned to, Parcel parcel);
  void deliver(unsigned from, Parcel parcel);
  void take_control(unsigned from, Parcel parcel);
  void send_waiting(Outgoing& out, unsigned to);
  void return_credit(unsigned from, Lane lane);
  void return_all_credit();
  Parcel take_bulk(unsigned from);

  const std::unique_ptr<Wire> wire_;
  const unsigned rank_, ranks_;
  const bool looks_are_cheap_;
  const std::size_t credit_bytes_;
  std::vector<std::string> hosts_;
  unsigned ranks_on_host_ = 1, index_on_host_ = 0;
  std::string group_;
  unsigned groups_ = 0;

  /// A stack that posters push to and one thread takes whole. Pushing is a release and taking an
  /// acquire: whoever takes a parcel sees what is in it.
  alignas(64) std::atomic<Posted*> posted_{nullptr};

  alignas(64) std::mutex mutex_;  ///< guards the rest
  std::array<Receive, kLanes> receive_;
  std::array<std::deque<std::pair<unsigned, Parcel>>, kLanes> kept_;  ///< without a receiver
  std::unique_ptr<Outgoing[]> outgoing_;                              ///< by rank and lane
  std::vector<Incoming> incoming_;                                    ///< the same
  bool owes_ = false;
  std::vector<std::uint8_t> sent_;  ///< by rank
  bool has_sent_ = false;
  std::vector<std::deque<Parcel>> bulk_;           ///< by rank
  std::vector<Reduction*> reductions_;             ///< by number; nullptr: there is none any more
  std::deque<std::pair<unsigned, Parcel>> early_;  ///< for reductions that are not there yet
};

/// A row of collectives: each rank contributes some words, and all get what `combine` makes of
/// them. The next one begins when a rank has the result of the last. Used by whoever holds the
/// lock.
class Reduction {
 public:
  using Word = std::uint64_t;
  /// Adds what one part of the ranks says to the sum of another: in any order.
  using Combine = std::function<void(Word* sum, const Word* one)>;

  /// All ranks make theirs in the same order.
  Reduction(RankTransport& transport, std::size_t words, Combine combine);
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;
  ~Reduction();

  void contribute(std::span<const Word> own);
  /// Whether that tells all other ranks that the sum has begun.
  bool tells_all() const { return few_; }
  /// Whether a part of the next sum, or of the one under way, is here.
  bool is_begun() const { return parts_ > 0; }
  /// Of the last one that this rank contributed to.
  bool is_done() const { return !busy_; }
  const std::vector<Word>& result() const { return result_; }

 private:
  friend class RankTransport;
  void add(const Word* one);
  void take(unsigned from, std::uint8_t kind, const Parcel& parcel);
  void take_across(unsigned from, const Word* words);
  void go_on();
  unsigned parts_of_all() const;
  void finish(const Word* result);
  Parcel parcel(std::uint8_t kind, const Word* words) const;

  RankTransport& transport_;
  unsigned number_;
  const std::size_t words_;
  const Combine combine_;
  std::vector<Word> sum_, result_;
  const bool few_;
  unsigned parts_ = 0;          ///< in the sum: this rank's and its children's, or all others'
  std::vector<char> has_part_;  ///< by rank, where there are few
  std::vector<std::vector<Word>> of_next_;  ///< the same: a part of the sum after this one, or none
  bool busy_ = false;
};

}  // namespace orrery::transport
