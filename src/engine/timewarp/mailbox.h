// SPDX-License-Identifier: Apache-2.0
//
// A worker's events on their way: it makes them, sends them to other workers, receives theirs,
// claims them for execution, undoes them, cancels what it sent, and frees them. All that decides
// who frees an event is here and in event_status.h; no other part of the engine touches an event's
// status.
//
// What is local goes into the worker's own pending set, which is the caller's: functions that
// return true for "it is pending now" leave that to it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "core/assert.h"
#include "core/payload.h"
#include "engine/timewarp/bells.h"
#include "engine/timewarp/event.h"
#include "engine/timewarp/statistics.h"
#include "memory/borrowed_pieces.h"
#include "run/event_pool.h"
#include "transport/mesh.h"

namespace orrery::timewarp {

/// An event on its way to its receiver's worker, or notice that one there was cancelled.
class Message {
 public:
  Message() = default;
  static Message event(TwEvent* event) { return Message(reinterpret_cast<std::uintptr_t>(event)); }
  static Message notice(TwEvent* event) {
    return Message(reinterpret_cast<std::uintptr_t>(event) | 1);
  }
  TwEvent* event() const { return reinterpret_cast<TwEvent*>(word_ & ~std::uintptr_t{1}); }
  bool is_notice() const { return (word_ & 1) != 0; }
  void prefetch() const { __builtin_prefetch(event(), 1); }

 private:
  explicit Message(std::uintptr_t word) : word_(word) {}
  std::uintptr_t word_ = 0;
};

using Mesh = transport::Mesh<Message>;

/// Where memory is separated by cache sets, events lie in the intensive part of the worker's ways
/// (memory/colour.h). That memory goes back to the arena with the pool: by then no worker touches
/// an event any more.
class IntensiveSlabs {
 public:
  explicit IntensiveSlabs(memory::Arena& arena) : pieces_(arena, memory::Access::intensive) {}
  MemoryPiece take(EventDepot& depot, std::size_t least_bytes) {
    memory::Piece piece = pieces_.take(least_bytes);
    if (piece.base == nullptr) piece = pieces_.take_spare(least_bytes);
    if (piece.base == nullptr) return depot.take_slab(least_bytes);
    depot.note_slab(piece.bytes);
    return {piece.base, piece.bytes};
  }

 private:
  memory::BorrowedPieces pieces_;
};

class Mailbox {
 public:
  Mailbox(unsigned index, Mesh& mesh, const std::vector<std::uint16_t>& owners, EventDepot& depot,
          memory::Arena& arena, WorkerStatistics& statistics)
      : index_(index),
        mesh_(mesh),
        owners_(owners),
        pool_(depot, IntensiveSlabs(arena)),
        statistics_(statistics) {
    note_own_lps();
  }
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // ---- Sending

  /// An event that `cause` sends (nullptr: start(), which is never undone). True: it is pending
  /// here.
  template <class Payload>
  [[gnu::always_inline]] bool send(const EventHeader& header, const Payload& payload,
                                   TwEvent* cause, TwEvent*& event) {
    event = make(header, payload);
    if (cause != nullptr) {
      event->sent_next = cause->first_sent;
      cause->first_sent = event;
    }
    // Most often without a look into the table, which with many LPs is not in the cache.
    if (header.receiver - own_first_ < own_count_) return true;
    const unsigned owner = owners_[header.receiver];
    if (owner == index_) return true;
    event->remote = 1;
    ++statistics_.remote_events;
    note_sent(event->key());
    note_if_late(owner, header.time());
    mesh_.ring(index_, owner).push(Message::event(event));
    return false;
  }
  void flush() { mesh_.flush(index_); }

  /// Something that was sent to a worker in the middle of a later event.
  struct Late {
    unsigned owner;
    std::int64_t ticks;
    std::uint64_t rung_cycles = 0;  ///< when its owner was told; 0: not yet
  };
  /// From now on these are noted; `running`: of each worker.
  void note_late_ones(const Bells::Running* running) { running_ = running; }
  std::vector<Late>& late() { return late_; }
  const std::vector<Late>& late() const { return late_; }
  /// Once LPs have moved to or from the worker. Its LPs are neighbours, unless a communication
  /// graph has placed them.
  void note_own_lps() {
    const auto first = std::find(owners_.begin(), owners_.end(), index_);
    const auto end =
        std::find_if(first, owners_.end(), [this](std::uint16_t owner) { return owner != index_; });
    own_first_ = static_cast<LpId>(first - owners_.begin());
    own_count_ = static_cast<LpId>(end - first);
  }

  // ---- Receiving

  /// Takes what was sent here. `pending(event)`: it is pending now. Notices go to the events that
  /// are to be ended: see `take_ending`.
  template <class Pending>
  bool drain(Pending&& pending) {
    const std::size_t received = mesh_.drain(index_, [&](Message message) {
      message.is_notice() ? push_ending(message.event()) : pending(message.event());
    });
    received_ += received;
    return received > 0;
  }
  /// Takes a pending event for execution. False: it was cancelled, and is freed.
  bool claim(TwEvent* event) {
    const AfterClaim then =
        event->remote == 0 ? event->status.claim_local() : event->status.claim_remote();
    if (then == AfterClaim::execute) [[likely]]
      return true;
    free(event);
    return false;
  }
  /// Whether it is executed and not undone.
  static bool is_executed(const TwEvent* event) { return event->status.is_claimed(); }
  /// Its execution was undone. True: it is pending again; else whoever cancelled it ends it.
  bool undo(TwEvent* event) {
    const AfterUndo then =
        event->remote == 0 ? event->status.undo_local() : event->status.undo_remote();
    return then == AfterUndo::make_pending;
  }
  /// Of a pending event: whether its sender withdrew it.
  static bool is_cancelled(const TwEvent* event) { return event->status.is_cancelled(); }
  /// Of a pending event: whether it is cancelled, and freed.
  bool free_if_cancelled(TwEvent* event) {
    if (!is_cancelled(event)) return false;
    free(event);
    return true;
  }
  void free(TwEvent* event) { free(event, event->bytes()); }
  /// For one who knows how large it is.
  void free(TwEvent* event, std::size_t bytes) {
    if constexpr (kAssertions) {
      ORRERY_ASSERT(event->receiver != kFreed, "an event is freed once");
      event->receiver = kFreed;
    }
    pool_.release(event, bytes);
  }

  // ---- Cancelling

  /// Cancels all that `cause` sent. Local events that were executed are to be ended, see
  /// `take_ending`; workers of others get notices.
  void cancel_sent(TwEvent* cause) {
    TwEvent* sent = cause->first_sent;
    cause->first_sent = nullptr;
    while (sent != nullptr) {
      // Read first: once it is marked, its receiver may free it.
      TwEvent* next = sent->sent_next;
      cancel(sent);
      sent = next;
    }
  }
  /// The lowest cancelled event that was executed here, or nullptr: undo it if it still is, then
  /// free it. Undoing it cancels only events with higher keys, so lowest first means that a cascade
  /// rolls each LP back once, however many of its events are cancelled. A heap to be worked off,
  /// not a recursion: the depth of a cascade is bounded by memory instead of the stack.
  TwEvent* take_ending() {
    if (ending_.empty()) return nullptr;
    std::pop_heap(ending_.begin(), ending_.end(), Later{});
    TwEvent* event = ending_.back();
    ending_.pop_back();
    return event;
  }

  // ---- GVT

  /// From now on the lowest key that is sent counts. Publishes what was sent; what finds no room
  /// may be published after its receiver has reported, so it counts as sent now.
  void join_round() {
    flush();
    sent_lowest_ = Key::infinity();
    mesh_.for_each_waiting(index_, [this](Message message) { note_sent(message.event()->key()); });
  }
  /// Lowest key sent to other workers since the round was joined.
  const Key& sent_lowest() const { return sent_lowest_; }
  /// Messages that were sent to other workers, whether they found room or not, and that came from
  /// them, since the start of the run.
  std::uint64_t sent() const { return statistics_.remote_events + statistics_.notices; }
  std::uint64_t received() const { return received_; }
  /// Whether all that was sent is received, and all that came in is seen to.
  bool is_empty() const { return ending_.empty() && mesh_.all_received(index_); }

  /// Bytes of events allocated less those freed here; see EventPool.
  std::int64_t used_bytes() const { return pool_.used_bytes(); }

 private:
  static constexpr LpId kFreed = 0xffffffff;  ///< no LP has that number

  template <class Payload>
  [[gnu::always_inline]] TwEvent* make(const EventHeader& header, const Payload& payload) {
    auto* event =
        new (pool_.allocate(TwEvent::kPayloadOffset + header.size.bytes())) TwEvent(header);
    if (header.size.bytes() > 0) write_payload(event->payload(), payload, header.size);
    return event;
  }
  struct Later {
    bool operator()(const TwEvent* a, const TwEvent* b) const { return a->key() > b->key(); }
  };
  void push_ending(TwEvent* event) {
    ending_.push_back(event);
    std::push_heap(ending_.begin(), ending_.end(), Later{});
  }
  /// The line that is looked at changes with each long event; where events are short, never.
  [[gnu::always_inline]] void note_if_late(unsigned owner, Time time) {
    if (running_ == nullptr) return;
    if (running_[owner].ticks.load(std::memory_order_relaxed) < time.ticks()) [[likely]]
      return;
    if (!late_.empty() && late_.back().owner == owner && late_.back().rung_cycles == 0) {
      late_.back().ticks = std::min(late_.back().ticks, time.ticks());
      return;
    }
    late_.push_back({owner, time.ticks()});
  }
  void note_sent(const Key& key) { sent_lowest_ = std::min(sent_lowest_, key); }

  void cancel(TwEvent* event) {
    ++statistics_.cancellations;
    if (event->remote == 0) {
      if (event->status.cancel_local() == AfterCancel::end_execution) push_ending(event);
      return;
    }
    const Key key = event->key();
    const unsigned owner = owners_[event->receiver];
    if (event->status.cancel_remote() == AfterCancel::nothing) return;
    ++statistics_.notices;
    note_sent(key);
    note_if_late(owner, key.time());
    mesh_.ring(index_, owner).push(Message::notice(event));
  }

  const unsigned index_;
  Mesh& mesh_;
  const std::vector<std::uint16_t>& owners_;
  LpId own_first_ = 0;  ///< its first LP; as many as own_count_ from there on are its own
  LpId own_count_ = 0;
  EventPool<64, Pools::many, IntensiveSlabs> pool_;
  WorkerStatistics& statistics_;
  Key sent_lowest_ = Key::infinity();
  std::uint64_t received_ = 0;
  const Bells::Running* running_ = nullptr;
  std::vector<Late> late_;
  std::vector<TwEvent*> ending_;  ///< a heap, lowest key first
};

}  // namespace orrery::timewarp
