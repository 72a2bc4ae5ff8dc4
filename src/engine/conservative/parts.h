// SPDX-License-Identifier: Apache-2.0
//
// The parts of a rank's LPs. Each part has a pending event set of its own. No part belongs to a
// worker: in each window a worker takes parts one after another, first those of its own share, whose
// lines are more likely in its cache, then what is left of the others' (Bai, Zheng, Wang and others:
// Unison: a parallel-efficient and user-transparent network simulation kernel. EuroSys 2024). The
// state of a part stays in the cache while all its events of a window execute, so parts are made so
// small that they fit it (as batches of an LP's events in Montesano, Marotta and Quaglia: PARSIR,
// DS-RT 2024).
//
// LPs that may reach each other without delay are in one part (run/execution/clusters.h).
//
// An event for another part is appended to a list of the sending worker for that part. Lists have
// two sides: in a window workers append to one side, and whoever takes a part reads its lists of the
// other side, filled in the last window. Every part is taken in every window, so a sender may clear
// a side when its turn comes again.
//
// A cache line that goes from one core to another takes as long as several events. So a short window
// has no atomic operations at all: each worker executes its share. In others a share is
// a counter: number of the window and of the next part, taken by compare-exchange, relaxed, since
// only uniqueness is needed: what was written before the last meeting is seen by all
// (transport/meeting.h).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/huge_pages.h"
#include "core/model_stack.h"
#include "engine/conservative/rank_link.h"
#include "run/events/event_pool.h"
#include "run/workers/event_loop.h"
#include "run/world/world.h"

namespace orrery::conservative {

/// On cache lines of its own, since its worker changes from window to window.
struct alignas(64) Part : LoopSet<LpTable::Line> {
  bool has_failed = false;  ///< an event failed, so no other is executed
};

/// The exchange of the workers' loops (event_loop.h).
class Parts {
 public:
  using Record = LpTable::Line;

  /// `part_lps`: LPs of a part; 0: as fit the cache. Takes the table of LPs out of the world.
  Parts(World& world, unsigned workers, std::uint64_t part_lps);
  ~Parts();
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  unsigned workers() const { return workers_; }
  unsigned owners() const { return count_; }
  unsigned owner(LpId id) const { return owners_[id]; }
  Record* lps(World&) { return lps_; }
  EventDepot& depot() { return depot_; }
  Part& operator[](unsigned part) { return parts_[part]; }
  /// The smallest delay that is promised to LPs of this rank from LPs of another part or rank, in
  /// ticks; kNever if there is none.
  std::int64_t shortest_delay(const Promises& promises) const;
  std::size_t bytes() const;

  // ---- Each worker fills its share of the LPs' records, whichever worker will execute them.
  void take_lps(unsigned worker);
  /// All records are taken. One worker calls it.
  void end_taking();

  // ---- By workers, in a window. Window 0 is the set-up.

  /// `window`: its number.
  void begin_window(unsigned worker, std::uint64_t window) {
    Place& place = places_[worker];
    place.side = window & 1;
    place.lowest = Key::infinity();
    place.at = place.begin;
    for (auto& list : place.sent[place.side]) list.clear();
  }
  void hand(unsigned from, unsigned part, PlainEvent* event) {
    Place& place = places_[from];
    place.sent[place.side][part].push_back(pending::entry_of(event));
    place.lowest = std::min(place.lowest, event->key());
    ++place.sends;
  }
  template <class Payload>
  void send(unsigned from, unsigned owner, const EventHeader& header, const Payload& payload) {
    link_->send(from, owner - count_, header, {}, payload, link_->joined());
    ++places_[from].sends;
  }
  /// Calls take(part, its number) for the worker's share. Few events were sent, so their lines are
  /// prefetched for all parts at once.
  template <class Take>
  void take_share(unsigned worker, std::uint64_t window, Take&& take) {
    Place& share = places_[worker];
    for (unsigned part = share.at; part < share.end; ++part)
      for_each_list(part, window, [](const List& list) { __builtin_prefetch(list.data()); });
    for (unsigned part = share.at; part < share.end; ++part)
      for_each_list(part, window, [](const List& list) {
        for (const auto& entry : list) __builtin_prefetch(entry.event);
      });
    while (share.at < share.end) {
      const unsigned part = share.at++;
      take(parts_[part], part);
    }
  }
  /// The same for all parts that no other worker takes. All workers call it in the same windows.
  template <class Take>
  void take_parts(unsigned worker, std::uint64_t window, Take&& take) {
    if (keeps_to_shares_) return take_share(worker, window, take);
    for (unsigned i = 0; i < workers_; ++i) {
      Place& share = places_[(worker + i) % workers_];
      while (const std::optional<unsigned> part = take_of(share, window)) {
        places_[worker].taken_over += i > 0 ? 1 : 0;
        take(parts_[*part], *part);
      }
    }
  }
  /// Calls receive(entry) for the events that the part was sent in the window before.
  template <class Receive>
  void receive(unsigned part, std::uint64_t window, Receive&& receive) const {
    for_each_list(part, window, [&](const List& list) {
      for (const auto& entry : list) receive(entry);
    });
  }
  /// The lowest key that the worker has sent in this window.
  const Key& lowest_sent(unsigned worker) const { return places_[worker].lowest; }

  // ---- By worker 0 at a meeting

  /// For an event from another rank.
  void arrive(PlainEvent* event) {
    Place& place = places_[0];
    place.sent[place.side][owners_[event->receiver]].push_back(pending::entry_of(event));
    place.lowest = std::min(place.lowest, event->key());
  }

  // ---- Between windows

  /// Whether the part is in the worker's share.
  bool is_of(unsigned part, unsigned worker) const {
    return part >= places_[worker].begin && part < places_[worker].end;
  }
  /// Calls visit(part, its number) for the parts of the worker's share.
  template <class Visit>
  void for_each_of(unsigned worker, Visit&& visit) {
    for (unsigned part = places_[worker].begin; part < places_[worker].end; ++part)
      visit(parts_[part], part);
  }
  /// Returns the records of the LPs to the world.
  void give_lps_back();

  RankLink* link() { return link_.get(); }
  void connect(transport::RankTransport& transport, std::size_t channel_messages) {
    link_ = std::make_unique<RankLink>(transport, workers_, depot_, channel_messages);
  }
  void disconnect() { link_.reset(); }
  std::uint64_t sends(unsigned worker) const { return places_[worker].sends; }
  std::uint64_t taken_over(unsigned worker) const { return places_[worker].taken_over; }

 private:
  using List = std::vector<pending::Entry<PlainEvent>>;
  using Lists = std::vector<List>;
  /// What belongs to a worker.
  struct alignas(64) Place {
    Lists sent[2];  ///< by part
    Key lowest = Key::infinity();
    std::uint64_t sends = 0, taken_over = 0;
    std::uint32_t begin = 0, end = 0;  ///< its share
    std::uint32_t at = 0;              ///< the next part, in a window without taking over
    std::uint32_t side = 0;
    /// Number of the window, then kPartBits for the next part.
    alignas(64) std::atomic<std::uint64_t> next{0};
  };

  /// Calls visit(list) for the lists that the part was sent in the window before.
  template <class Visit>
  void for_each_list(unsigned part, std::uint64_t window, Visit&& visit) const {
    for (const Place& from : places_) visit(from.sent[1 - (window & 1)][part]);
  }

  static constexpr unsigned kPartBits = 16;

  static std::optional<unsigned> take_of(Place& share, std::uint64_t window) {
    const std::uint64_t first = window << kPartBits | share.begin;
    const std::uint64_t end = window << kPartBits | share.end;
    std::uint64_t next = share.next.load(std::memory_order_relaxed);
    for (;;) {
      const std::uint64_t part = std::max(next, first);
      if (part >= end) return std::nullopt;
      if (share.next.compare_exchange_weak(next, part + 1, std::memory_order_relaxed))
        return static_cast<unsigned>(part & ((1u << kPartBits) - 1));
    }
  }
  void deal(std::uint64_t part_lps);

  World& world_;
  const unsigned workers_;
  const bool keeps_to_shares_;  ///< some LPs are called by one thread only
  unsigned count_ = 0;
  std::vector<std::uint16_t, HugePageAllocator<std::uint16_t>> owners_;  ///< by LP
  EventDepot depot_;
  std::unique_ptr<Part[]> parts_;
  std::vector<Place> places_;
  std::vector<Record, HugePageAllocator<Record>> records_;  ///< of LPs in ordinary memory
  Record* lps_ = nullptr;
  std::unique_ptr<RankLink> link_;  ///< null: there are no other ranks
};

using Loop = EventLoop<Parts>;

}  // namespace orrery::conservative
