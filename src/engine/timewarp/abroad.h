// SPDX-License-Identifier: Apache-2.0
//
// How the workers of a rank exchange events and antimessages with other ranks. An antimessage
// (Jefferson, "Virtual time", 1985) names the cancelled event by its key, since the sender has no
// pointer to an event on another rank. Parcels go from a worker to a rank in order, so an
// antimessage arrives after the event that it cancels, and before an event with the same key that
// its sender may make when it executes the cause again.
//
// A record of a parcel is the event's header, the time at which it was sent, and the payload. The
// thread that makes progress turns records into events and puts them into rings for the workers
// (ingress.h in src/transport/ranks). The worker finds the event that an antimessage cancels
// (imports.h) and cancels it like a local event. GVT rounds are those of
// transport/ranks/rank_rounds.h.
//
// A worker without credit for some rank executes no further than the microstep after GVT, so the
// number of its messages is bounded by the events that commit.
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
  /// In place of the time at which an event was sent: the event is final.
  static constexpr std::int64_t kFinal = std::numeric_limits<std::int64_t>::min();

  /// `owners`: the workers of this rank's LPs, by LP.
  Abroad(transport::RankTransport& transport, const World& world,
         const std::vector<std::uint16_t>& owners, const Bells& bells, unsigned workers,
         GvtRounds& rounds, EventDepot& depot, std::size_t channel_messages);
  Abroad(const Abroad&) = delete;
  Abroad& operator=(const Abroad&) = delete;
  ~Abroad();

  /// From now on, workers are called back from long events when an earlier event arrives. Call
  /// before any other function.
  void call_back(Bells& bells) { late_.watch(bells); }

  // ---- By workers. `joined`: rounds that the worker has joined so far.

  /// Sends a copy of an event; the caller still owns `event`.
  void send(unsigned worker, const TwEvent& event, std::int64_t cause_ticks, std::uint64_t joined);
  /// Sends an antimessage for the event that `record` stands for.
  void cancel(unsigned worker, const TwEvent& record, std::uint64_t joined);
  /// Hands over the parcels that the worker has filled: all of them, or only if they are old.
  void post(unsigned worker, std::uint64_t joined) { egress_[worker]->post_all(joined); }
  void post_old(unsigned worker, std::uint64_t joined) {
    if (egress_[worker]->is_old()) post(worker, joined);
  }
  bool is_posted(unsigned worker) const { return egress_[worker]->is_empty(); }
  /// Calls receive(message) for each message that has arrived for that worker; returns how many.
  template <class Receive>
  std::size_t drain(unsigned worker, Receive&& receive) {
    return ingress_.drain(worker, receive);
  }
  /// Sends and receives parcels and advances the round, unless another thread is doing so.
  /// `federate`: announces messages to other threads, or null.
  void progress(Federate* federate);
  unsigned rank_of(const EventHeader& event) const { return world_.rank_of(event.receiver); }
  bool is_short_of_credit() const;
  bool looks_are_cheap() const { return transport_.looks_are_cheap(); }
  transport::RankRounds<GvtReport>& rounds() { return rounds_; }
  unsigned ranks() const { return transport_.ranks(); }
  /// Memory of events made here, less those freed here: workers free the others. A statistic:
  /// relaxed.
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
  Federate* federate_ = nullptr;  ///< of the thread that makes progress
  EventPool<64> pool_;
  LateEvents late_;
};

}  // namespace orrery::timewarp
