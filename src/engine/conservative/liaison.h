// SPDX-License-Identifier: Apache-2.0
//
// How the workers of a rank exchange events and promises with other ranks. A worker puts events for
// another rank into parcels of its own (egress.h in src/transport/ranks). A rank's promise to the
// others is the lowest promise *abroad* of its workers; a worker raises its promise abroad only
// when everything that it sent is posted. The thread that makes progress reads these promises, then
// forwards posted parcels, then sends the rank's promise: on an ordered stream, the promise comes
// behind the events sent before it. So another rank need not know the workers of this rank.
//
// At the receiver, the thread that makes progress turns parcels into events and puts them into a
// ring for each worker. It raises the other rank's line on the board (board.h) when all events that
// came before the promise are in the rings. Rounds are those of transport/ranks/rank_rounds.h.
//
// Between two periods blocks may change workers, and then the ring of a worker must not hold events
// for a block that leaves it. But another rank may have begun the next period already: its parcels
// carry the number of the period, and are kept until that period begins here, too. Promises hold
// across periods: LPs stay on their rank, and a halt takes nothing back.
//
// Memory orders. A worker's promise abroad is a release and reading it an acquire: what the worker
// posted before is on the stack of posted parcels for the thread that reads the promise. The rest
// is guarded by the transport's lock.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/cycles.h"
#include "engine/conservative/partition.h"
#include "engine/conservative/report.h"
#include "run/event_list.h"
#include "run/event_pool.h"
#include "run/plain_event.h"
#include "transport/board.h"
#include "transport/ranks/egress.h"
#include "transport/ranks/ingress.h"
#include "transport/ranks/rank_rounds.h"
#include "transport/ranks/rank_transport.h"

namespace orrery::conservative {

/// An event on its way to its receiver's worker.
struct Message {
  PlainEvent* event = nullptr;
  void prefetch() const { __builtin_prefetch(event, 1); }
};

class Liaison {
 public:
  Liaison(transport::RankTransport& transport, const Partition& partition, Rounds& rounds,
          transport::Board<>& board, EventDepot& depot, std::size_t channel_messages);
  Liaison(const Liaison&) = delete;
  Liaison& operator=(const Liaison&) = delete;
  ~Liaison();

  // ---- By workers
  transport::Egress& egress(unsigned worker) { return *egress_[worker]; }
  /// Sends an event. `joined`: rounds that the worker has joined so far.
  template <class Payload>
  void send(unsigned worker, unsigned rank, const EventHeader& header, const Payload& payload,
            std::uint64_t joined) {
    std::byte* const place = egress_[worker]->extend(rank, EventList::stored_bytes(header), joined);
    std::memcpy(place, static_cast<const void*>(&header), sizeof header);
    if (header.size.bytes() > 0) write_payload(place + sizeof header, payload, header.size);
  }
  /// Called by a worker that has posted everything.
  void promise_abroad(unsigned worker, std::int64_t ticks) {
    lines_[worker].ticks.store(ticks, std::memory_order_release);
  }
  /// Calls receive(message) for each message from other ranks for that worker; returns how many.
  template <class Receive>
  std::size_t drain(unsigned worker, Receive&& receive) {
    return ingress_.drain(worker, receive);
  }
  /// Sends and receives parcels and promises and advances the round, unless another thread is doing
  /// so. `idle`: the caller has nothing else to do, so other ranks may be waiting for a promise.
  void progress(bool idle);
  bool is_short_of_credit() const;
  /// Called by one worker, while no thread makes progress.
  void begin_period();
  transport::RankRounds<Report>& rounds() { return rounds_; }
  unsigned ranks() const { return transport_.ranks(); }

 private:
  enum Kind : std::uint8_t { kEvents, kPromise };
  struct alignas(64) Line {
    std::atomic<std::int64_t> ticks{0};
  };

  std::int64_t promise_of_all() const;
  void tell_promise(std::int64_t ticks, bool idle);
  void receive(unsigned from, transport::Parcel parcel);
  void take(unsigned from, const transport::Parcel& parcel);
  void take_events(const transport::Parcel& parcel);
  void tell_promises_heard();

  transport::RankTransport& transport_;
  const Partition& partition_;
  transport::Board<>& board_;
  const transport::Egresses egress_;
  std::unique_ptr<Line[]> lines_;  ///< by worker
  transport::Ingress<Message> ingress_;
  transport::RankRounds<Report> rounds_;

  // Guarded by the transport's lock.
  EventPool<64> pool_;
  std::uint16_t period_ = 0;
  std::vector<std::deque<transport::Parcel>> later_;  ///< parcels of the next period, by rank
  std::vector<std::int64_t> heard_;                   ///< promises received, by rank
  bool heard_anew_ = false;                           ///< some of heard_ are not on the board yet
  std::int64_t told_ = 0;                             ///< this rank's last promise
  std::uint64_t told_cycles_ = 0;
};

}  // namespace orrery::conservative
