// SPDX-License-Identifier: Apache-2.0
//
// The transport between the ranks of a run: parcels with credits, collectives that do not block,
// and blocking exchanges for the set-up and the end of a run. The back-end is a wire (wire.h).
//
// Threads. MPI requires calls by one thread at a time, and a thread for these calls would take a
// core from a worker. So any thread that has time makes progress: a worker between two batches
// tries the lock (`try_progress`). If another thread has the lock, that thread does the same work,
// and the worker goes on. A worker *posts* its parcels with one compare-exchange and no lock; the
// next thread to make progress forwards them. Only the blocking exchanges wait for the lock.
//
// Credits. A rank may have a limited number of bytes on the way to another rank, in each lane with
// credit; further parcels wait at the sender, in order. The receiver returns credit as soon as the
// parcel is in memory that is accounted elsewhere. Credit does not depend on what a simulation
// commits, so it always comes back. A parcel larger than the whole credit is sent when nothing else
// is on the way. `is_short_of_credit` lets an engine slow down.
//
// Collectives consist of messages, on any back-end: sums and minima of a few words, with a
// combining function of the caller. Few ranks send their words to each other, which takes one hop.
// More ranks make a tree (four children each, rank 0 at the root), which takes two hops a level.
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

  /// All ranks must construct it at the same time: the constructor waits for the other ranks, and
  /// learns their hosts' names.
  explicit RankTransport(std::unique_ptr<Wire> wire, std::size_t credit_bytes = kCreditBytes);
  RankTransport(const RankTransport&) = delete;
  RankTransport& operator=(const RankTransport&) = delete;
  ~RankTransport();

  unsigned rank() const { return rank_; }
  unsigned ranks() const { return ranks_; }
  const std::string& host(unsigned rank) const { return hosts_[rank]; }
  /// "rank 1 on host a"
  std::string place(unsigned rank) const;
  /// Number of ranks on this rank's host, and this rank's index among them.
  unsigned ranks_on_host() const { return ranks_on_host_; }
  unsigned index_on_host() const { return index_on_host_; }
  std::string back_end() const { return wire_->name(); }
  /// See Wire::about.
  void about(std::string_view text) { wire_->about(text); }
  bool looks_are_cheap() const { return looks_are_cheap_; }
  /// A name that only the ranks on this host share; another name at each call. All of them must
  /// call it equally often. By one thread.
  std::string next_group() { return group_ + "." + std::to_string(groups_++); }

  // ---- By any thread

  /// Queues a parcel for sending, in order with the other parcels that this thread posts.
  void post(unsigned to, Lane lane, Parcel parcel);
  /// Makes progress, unless another thread has the lock. Returns whether anything came or went.
  bool try_progress();
  /// Whether parcels to that rank wait for credit. A statistic: relaxed.
  bool is_short_of_credit(unsigned to, Lane lane) const {
    return waiting_bytes(to, lane).load(std::memory_order_relaxed) > 0;
  }
  /// Bytes that wait for credit. A statistic: relaxed.
  std::uint64_t waiting(unsigned to, Lane lane) const {
    return waiting_bytes(to, lane).load(std::memory_order_relaxed);
  }
  /// Ends a run that cannot go on, on all ranks, as far as the back-end can.
  void abandon(int code) noexcept { wire_->abandon(code); }

  // ---- By the thread that holds the lock

  std::mutex& mutex() { return mutex_; }
  /// Sets the receiver of a lane: receive(from, parcel), called by the thread that makes progress,
  /// with the lock held. Parcels of a lane without a receiver are kept until there is one.
  using Receive = std::function<void(unsigned from, Parcel parcel)>;
  void receive_with(Lane lane, Receive receive);
  void send(unsigned to, Lane lane, Parcel parcel);
  /// Returns credit for a parcel of that rank.
  void give_back(unsigned from, Lane lane, std::uint64_t bytes);
  /// Sends the posted parcels.
  void forward_posted();
  bool progress();
  /// Parcels sent between hold() and flush() go together.
  void hold() { wire_->hold(); }
  void flush() { wire_->flush(); }
  /// Visits the ranks that were sent something since the last call: visit(rank, urgent). `urgent`:
  /// a parcel without credit was among it.
  template <class Visit>
  void take_sent(Visit&& visit) {
    if (!std::exchange(has_sent_, false)) return;
    for (unsigned to = 0; to < ranks_; ++to)
      if (const std::uint8_t what = std::exchange(sent_[to], kNothing); what != kNothing)
        visit(to, what == kUrgent);
  }
  /// Visits the neighbours of this rank in the tree of collectives. A notice that each rank passes
  /// on to its neighbours reaches all ranks.
  template <class Visit>
  void for_each_neighbour(Visit&& visit) const {
    if (rank_ > 0) visit(parent());
    for (unsigned child = first_child(); child < end_child(); ++child) visit(child);
  }

  // ---- By one thread, while no other uses this object. All ranks call these functions in the same
  // order, and the functions wait for the other ranks.

  /// The parcels of all ranks, by rank, at rank 0; nothing elsewhere.
  std::vector<Parcel> gather(Parcel own);
  /// The parcels of all ranks, by rank, at all ranks.
  std::vector<Parcel> gather_everywhere(Parcel own);
  /// Makes progress until `done()` is true; `done` is called with the lock held.
  void wait_until(const std::function<bool()>& done);
  /// Waits until all ranks have called it and all parcels have arrived; then any rank may end.
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
  /// The parcels of one lane to one rank.
  struct Outgoing {
    std::deque<Parcel> waiting;
    std::uint64_t on_the_way = 0;                 ///< bytes whose credit has not come back
    std::atomic<std::uint64_t> waiting_bytes{0};  ///< written with the lock held
  };
  struct Incoming {
    std::uint64_t owed = 0;  ///< credit that was not returned yet
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

  /// A stack that posting threads push to and one thread takes whole. Pushing is a release and
  /// taking an acquire: the thread that takes a parcel sees its contents.
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
  std::vector<Reduction*> reductions_;             ///< by number; nullptr: destroyed
  std::deque<std::pair<unsigned, Parcel>> early_;  ///< for reductions that do not exist yet
};

/// A sequence of collectives: each rank contributes some words, and all get the result of `combine`
/// over them. A rank may begin the next one when it has the result of the last. Used by the thread
/// that holds the lock.
class Reduction {
 public:
  using Word = std::uint64_t;
  /// Adds the words of one part of the ranks to the sum of another part, in any order.
  using Combine = std::function<void(Word* sum, const Word* one)>;

  /// All ranks must construct their reductions in the same order.
  Reduction(RankTransport& transport, std::size_t words, Combine combine);
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;
  ~Reduction();

  void contribute(std::span<const Word> own);
  /// Whether contribute() announces the sum to all other ranks.
  bool tells_all() const { return few_; }
  /// Whether a part of the current or next sum has come.
  bool is_begun() const { return parts_ > 0; }
  /// Whether the last sum that this rank contributed to is complete.
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
  std::vector<char> has_part_;  ///< by rank, if there are few ranks
  std::vector<std::vector<Word>> of_next_;  ///< by rank: words for the next sum; may be empty
  bool busy_ = false;
};

}  // namespace orrery::transport
