// SPDX-License-Identifier: Apache-2.0
//
// Events and promises between the workers of a rank and other ranks (run/ranks/link.h). A rank's
// promise to the others is the lowest promise of its workers to other ranks; a worker raises that
// promise only when everything that it sent is posted. The thread that makes progress reads these
// promises, then forwards posted parcels, then sends the rank's promise: on an ordered stream, the
// promise comes behind the events sent before it. So another rank need not know the workers of this
// rank.
//
// At the receiver, the thread that makes progress raises the other rank's line on the board
// (board.h) when all events that came before the promise are in the rings.
//
// Between two periods blocks may change workers, and then the ring of a worker must not hold events
// for a block that leaves it. But another rank may have begun the next period already: its parcels
// carry the number of the period, and are kept until that period begins here, too. Promises hold
// across periods: LPs stay on their rank, and a halt takes nothing back.
//
// Memory orders. A worker's promise to other ranks is a release and reading it an acquire: what the
// worker posted before is on the stack of posted parcels for the thread that reads the promise. The
// rest is guarded by the transport's lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "engine/conservative/partition.h"
#include "engine/conservative/report.h"
#include "run/events/event_pool.h"
#include "run/events/plain_event.h"
#include "run/ranks/link.h"
#include "transport/board.h"

namespace orrery::conservative {

/// An event on its way to its receiver's worker.
struct Message {
  PlainEvent* event = nullptr;
  void prefetch() const { __builtin_prefetch(event, 1); }
};

class RankLink : public ranks::Link<Message, Report> {
 public:
  RankLink(transport::RankTransport& transport, const Partition& partition, Rounds& rounds,
           transport::Board<>& board, EventDepot& depot, std::size_t channel_messages);
  ~RankLink();

  // ---- By workers
  /// Called by a worker that has posted everything.
  void promise_to_ranks(unsigned worker, std::int64_t ticks) {
    lines_[worker].ticks.store(ticks, std::memory_order_release);
  }
  /// `idle`: the caller has nothing else to do, so other ranks may be waiting for a promise.
  void progress(bool idle);
  /// Called by one worker, while no thread makes progress.
  void begin_period();

 private:
  enum Kind : std::uint8_t { kEvents, kPromise };
  struct alignas(64) Line {
    std::atomic<std::int64_t> ticks{0};
  };
  struct Steps;

  std::int64_t promise_of_all() const;
  void tell_promise(std::int64_t ticks, bool idle);
  void receive(unsigned from, transport::Parcel parcel);
  void take(unsigned from, const transport::Parcel& parcel);
  void tell_promises_heard();

  const Partition& partition_;
  transport::Board<>& board_;
  std::unique_ptr<Line[]> lines_;  ///< by worker

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
