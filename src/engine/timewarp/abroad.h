// SPDX-License-Identifier: Apache-2.0
//
// How the workers of a rank deal with the other ranks. Jefferson's antimessages ("Virtual time",
// 1985): what is cancelled is told by its key, since nobody there has a pointer to it. From a
// worker to a rank parcels go in order, so an antimessage comes behind the event that it cancels,
// and before an event with the same key that its sender may make when it executes the cause again.
//
// A record of a parcel is the event's header, when it was sent, and the payload. Whoever makes
// progress makes events of it and puts them into rings for the workers (ingress.h in
// src/transport/ranks); these find what an antimessage cancels (imports.h) and go on as if it was
// theirs. GVT rounds are those of transport/ranks/rank_rounds.h.
//
// A worker without credit for some rank executes no further than GVT's next step, so what it sends
// is bounded by what commits.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/timewarp/event.h"
#include "engine/timewarp/gvt.h"
#include "engine/timewarp/late_events.h"
#include "engine/timewarp/message.h"
#include "run/event_list.h"
#include "run/event_pool.h"
#include "run/federation.h"
#include "run/world.h"
#include "transport/ranks/egress.h"
#include "transport/ranks/ingress.h"
#include "transport/ranks/rank_rounds.h"
#include "transport/ranks/rank_transport.h"

namespace orrery::timewarp {

class Abroad {
 public:
  /// In place of the time at which an event was sent: nothing can undo it.
  static constexpr std::int64_t kFinal = std::numeric_limits<std::int64_t>::min();

  /// `owners`: of the LPs that are here, their workers.
  Abroad(transport::RankTransport& transport, const World& world,
         const std::vector<std::uint16_t>& owners, const Bells& bells, unsigned workers,
         GvtRounds& rounds, EventDepot& depot, std::size_t channel_messages);
  Abroad(const Abroad&) = delete;
  Abroad& operator=(const Abroad&) = delete;
  ~Abroad();

  /// Before it is used: workers in the middle of later events than what comes are called back.
  void call_back(Bells& bells) { late_.watch(bells); }

  // ---- By workers. `joined`: rounds that the worker has joined so far.

  /// Sends an event, which stays the caller's.
  void send(unsigned worker, const TwEvent& event, std::int64_t cause_ticks, std::uint64_t joined);
  /// Cancels one, of which `record` is left.
  void cancel(unsigned worker, const TwEvent& record, std::uint64_t joined);
  /// What was sent goes: all of it, or if it is old.
  void post(unsigned worker, std::uint64_t joined) { egress_[worker]->post_all(joined); }
  void post_old(unsigned worker, std::uint64_t joined) {
    if (egress_[worker]->is_old()) post(worker, joined);
  }
  bool is_posted(unsigned worker) const { return egress_[worker]->is_empty(); }
  /// What has come for that worker: receive(message).
  template <class Receive>
  std::size_t drain(unsigned worker, Receive&& receive) {
    return ingress_.drain(worker, receive);
  }
  /// Moves on what can be moved, if no other thread is at it. `federate`: who announces what goes
  /// and comes, or null.
  void progress(Federate* federate);
  unsigned rank_of(const EventHeader& event) const { return world_.rank_of(event.receiver); }
  bool is_short_of_credit() const;
  bool looks_are_cheap() const { return transport_.looks_are_cheap(); }
  transport::RankRounds<GvtReport>& rounds() { return rounds_; }
  unsigned ranks() const { return transport_.ranks(); }
  /// Of events that were made here and are in use, or were freed by workers. A statistic: relaxed.
  std::int64_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::int64_t kAntimessage = kFinal + 1;
  static constexpr std::size_t kHeadBytes = sizeof(EventHeader) + sizeof(std::int64_t);

  static std::size_t record_bytes(const EventHeader& header) {
    return EventList::stored_bytes(header) + sizeof(std::int64_t);
  }
  std::byte* begin_record(unsigned worker, const EventHeader& header, std::int64_t cause_ticks,
                          std::uint64_t joined);
  void take(unsigned from, const transport::Parcel& parcel);
  const std::byte* take_record(const std::byte* at);

  transport::RankTransport& transport_;
  const World& world_;
  const std::vector<std::uint16_t>& owners_;
  const Bells& bells_;
  const transport::Egresses egress_;
  transport::Ingress<Message> ingress_;
  transport::RankRounds<GvtReport> rounds_;
  std::atomic<std::int64_t> used_bytes_{0};

  // Guarded by the transport's lock.
  Federate* federate_ = nullptr;  ///< of whoever makes progress
  EventPool<64> pool_;
  LateEvents late_;
};

}  // namespace orrery::timewarp
