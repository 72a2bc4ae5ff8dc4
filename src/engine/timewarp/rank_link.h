// SPDX-License-Identifier: Apache-2.0
//
// Events and antimessages between the workers of a rank and other ranks (run/ranks/link.h). An
// antimessage (Jefferson, "Virtual time", 1985) names the cancelled event by its key, since the
// sender has no pointer to an event on another rank. Parcels go from a worker to a rank in order,
// so an antimessage arrives after the event that it cancels, and before an event with the same key
// that its sender may make when it executes the cause again.
//
// The worker finds the event that an antimessage cancels (imports.h) and cancels it like a local
// event.
//
// A worker without credit for some rank executes no further than the microstep after GVT, so the
// number of its messages is bounded by the events that commit.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "engine/timewarp/event.h"
#include "engine/timewarp/gvt.h"
#include "engine/timewarp/late_events.h"
#include "engine/timewarp/message.h"
#include "run/events/event_pool.h"
#include "run/ranks/link.h"
#include "run/threads/federation.h"
#include "run/world/world.h"

namespace orrery::timewarp {

/// Of a record: the time at which the event was sent, in ticks.
struct CauseTime {
  std::int64_t ticks;
};

class RankLink : public ranks::Link<Message, GvtReport, CauseTime> {
 public:
  /// In place of the time at which an event was sent: the event is final.
  static constexpr std::int64_t kFinal = std::numeric_limits<std::int64_t>::min();

  /// `owners`: the workers of this rank's LPs, by LP.
  RankLink(transport::RankTransport& transport, const World& world,
           const std::vector<std::uint16_t>& owners, unsigned workers, GvtRounds& rounds,
           EventDepot& depot, std::size_t channel_messages);
  ~RankLink();

  /// From now on, workers are called back from long events when an earlier event arrives. Call
  /// before any other function.
  void call_back(ThreadWaker& waker) { late_.watch(waker); }

  // ---- By workers. `joined`: rounds that the worker has joined so far.

  /// Sends a copy of an event; the caller still owns `event`.
  void send(unsigned worker, const TwEvent& event, std::int64_t cause_ticks, std::uint64_t joined) {
    Link::send(worker, rank_of(event), event, {cause_ticks}, event.payload(), joined);
  }
  /// Sends an antimessage for the event that `record` stands for.
  void cancel(unsigned worker, const TwEvent& record, std::uint64_t joined) {
    const EventHeader header(record.key(), record.receiver, record.type, {});
    Link::send(worker, rank_of(record), header, {kAntimessage}, record.payload(), joined);
  }
  /// Hands over the parcels that the worker has filled: all of them, or only if they are old.
  void post(unsigned worker, std::uint64_t joined) { egress(worker).post_all(joined); }
  void post_old(unsigned worker, std::uint64_t joined) {
    if (egress(worker).is_old()) post(worker, joined);
  }
  /// `federate`: announces messages to other threads, or null.
  void progress(Federate* federate);
  unsigned rank_of(const EventHeader& event) const { return world_.rank_of(event.receiver); }
  /// Memory of events made here, less those freed here: workers free the others. A statistic:
  /// relaxed.
  std::int64_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }

 private:
  struct Steps;
  static constexpr std::int64_t kAntimessage = kFinal + 1;

  void take(unsigned from, const transport::Parcel& parcel);
  void take_record(const EventHeader& header, CauseTime cause, const std::byte* payload);

  const World& world_;
  const std::vector<std::uint16_t>& owners_;
  std::atomic<std::int64_t> used_bytes_{0};

  // Guarded by the transport's lock.
  Federate* federate_ = nullptr;  ///< of the thread that makes progress
  EventPool<64> pool_;
  LateEvents late_;
};

}  // namespace orrery::timewarp
