// SPDX-License-Identifier: Apache-2.0
//
// How the workers of a rank deal with the other ranks. A worker puts events for another rank into
// parcels of its own (egress.h in src/transport/ranks). A rank's promise to the
// others is the lowest of what its workers promise *abroad*; a worker raises that only when
// everything that it sent is posted. Whoever makes progress reads these promises, then forwards
// what was posted, then sends the promise: it lies behind the events that came before it, on a
// stream that is in order. So another rank needs to know nothing of the workers here.
//
// At the receiver whoever makes progress makes events of what came and puts them into a ring for
// each worker; the other rank's line on the board (board.h) is raised when all that came before the
// promise is in the rings. Rounds are those of transport/ranks/rank_rounds.h.
//
// Between two periods blocks may change hands, and a ring must not hold events of one worker's that
// another is to get. But another rank may have begun the next period already: what it sends then
// says so, and is kept until that period begins here, too. Promises hold across periods: LPs stay
// on their rank, and a halt takes nothing back.
//
// Orders. A worker's promise abroad is a release and reading it an acquire: what it posted before
// is on the stack of posted parcels for whoever reads it. The rest is guarded by the transport's
// lock.
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
  /// By a worker that has posted everything.
  void promise_abroad(unsigned worker, std::int64_t ticks) {
    lines_[worker].ticks.store(ticks, std::memory_order_release);
  }
  /// What has come from abroad, for that worker.
  template <class Receive>
  std::size_t drain(unsigned worker, Receive&& receive) {
    return ingress_.drain(worker, receive);
  }
  /// Moves on what can be moved, if no other thread is at it. `idle`: the caller has nothing else
  /// to do, so others may wait for a promise.
  void progress(bool idle);
  bool is_short_of_credit() const;
  /// By one of them, while none makes progress.
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
  std::vector<std::deque<transport::Parcel>> later_;  ///< of the next period, by rank
  std::vector<std::int64_t> heard_;                   ///< promises, by rank
  bool heard_anew_ = false;                           ///< some are not on the board yet
  std::int64_t told_ = 0;                             ///< this rank's promise
  std::uint64_t told_cycles_ = 0;
};

}  // namespace orrery::conservative
