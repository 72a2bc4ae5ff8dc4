// SPDX-License-Identifier: Apache-2.0
//
// A worker's side of the life of events: creates events, sends them to other workers, receives
// theirs, claims them for execution, undoes them, cancels what it sent, and frees them. Everything
// that decides which worker frees an event is here and in event_status.h; no other part of the
// engine touches an event's status.
//
// The caller has the worker's pending event set. Where a function returns true for "pending here",
// the caller puts the event into that set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <vector>

#include "core/assert.h"
#include "core/payload.h"
#include "engine/timewarp/event.h"
#include "engine/timewarp/exports.h"
#include "engine/timewarp/imports.h"
#include "engine/timewarp/late_events.h"
#include "engine/timewarp/message.h"
#include "engine/timewarp/rank_link.h"
#include "engine/timewarp/statistics.h"
#include "memory/borrowed_pieces.h"
#include "pending/dary_heap.h"
#include "run/events/event_pool.h"
#include "run/threads/federation.h"
#include "run/world/world.h"

namespace orrery::timewarp {

/// Where memory is separated by cache sets, events lie in the intensive part of the worker's ways
/// (memory/colour.h). That memory returns to the arena when the pool is destroyed: by then no
/// worker touches an event any more.
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
  /// `rank_link`: null if there are no other ranks.
  Mailbox(unsigned index, Mesh& mesh, RankLink* rank_link, const std::vector<std::uint16_t>& owners,
          EventDepot& depot, memory::Arena& arena, WorkerStatistics& statistics)
      : index_(index),
        mesh_(mesh),
        rank_link_(rank_link),
        owners_(owners),
        pool_(depot, IntensiveSlabs(arena)),
        statistics_(statistics) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // ---- Sending

  /// Makes `event`, which `cause` sends (nullptr: the send is final), and sends it. True: its
  /// receiver is an LP of this worker, so the caller puts it into the pending event set.
  template <class Payload>
  [[gnu::always_inline]] bool send(const EventHeader& header, const Payload& payload,
                                   TwEvent* cause, TwEvent*& event) {
    event = make(header, payload);
    if (cause != nullptr) {
      event->sent_next = cause->first_sent;
      cause->first_sent = event;
    }
    const unsigned owner = owners_[header.receiver];
    if (owner == index_) return true;
    ++statistics_.remote_events;
    note_sent(event->key());
    if (owner == World::kElsewhere) [[unlikely]] {
      send_to_rank(event, cause);
      return false;
    }
    event->route = Route::shared;
    note_receiver(owner, header.time());
    mesh_.ring(index_, owner).push(Message::event(event));
    return false;
  }
  /// Publishes what was sent to other workers; to other ranks only if it is old.
  void flush() {
    mesh_.flush(index_);
    if (rank_link_ != nullptr) [[unlikely]]
      rank_link_->post_old(index_, joined_);
  }
  /// Publishes all that was sent, to other ranks too.
  void flush_all() {
    mesh_.flush(index_);
    if (rank_link_ != nullptr) rank_link_->post(index_, joined_);
  }
  /// `federate`: announces to other threads what is sent, if threads share cores; else null.
  void share(Federate* federate) { federate_ = federate; }
  /// Events sent to workers in the middle of later events.
  LateEvents& late() { return late_; }

  // ---- Receiving

  /// Receives messages: calls arrived(event) for each event, and keeps the events of notices for
  /// `pop_cancelled_executed`. True if there were any.
  template <class Arrived>
  bool drain(Arrived&& arrived) {
    std::size_t received = mesh_.drain(index_, [&](Message message) {
      message.is_notice() ? ending_.push(message.event()) : arrived(message.event());
    });
    if (rank_link_ != nullptr) [[unlikely]]
      received += rank_link_->drain(index_, [&](Message message) {
        if (take_from_rank(message.event())) arrived(message.event());
      });
    received_ += received;
    return received > 0;
  }
  /// Takes a pending event for execution. False: it was cancelled, and is freed.
  bool claim(TwEvent* event) {
    if (event->is_shared() ? event->status.claim_remote() : event->status.claim_local()) [[likely]]
      return true;
    free(event);
    return false;
  }
  /// Whether the event is executed and not undone.
  static bool is_executed(const TwEvent* event) { return event->status.is_claimed(); }
  /// The event's execution was undone. True: the event is pending again. False: it is cancelled,
  /// and pop_cancelled_executed() will return it.
  bool undo(TwEvent* event) {
    return event->is_shared() ? event->status.undo_remote() : event->status.undo_local();
  }
  /// Whether a pending event is cancelled.
  static bool is_cancelled(const TwEvent* event) { return event->status.is_cancelled(); }
  /// Frees a pending event if it is cancelled; returns whether it was.
  bool free_if_cancelled(TwEvent* event) {
    if (!is_cancelled(event)) return false;
    free(event);
    return true;
  }
  void free(TwEvent* event) { free(event, event->bytes()); }
  /// Frees a held event (held.h) after its execution, before it is committed: its cause is final,
  /// so no antimessage will come for it.
  void free_final(TwEvent* event) {
    if (event->route == Route::imported) imports_.take(event->key());
    free(event);
  }
  /// The same, where the caller knows the event's size.
  void free(TwEvent* event, std::size_t bytes) {
    if constexpr (kAssertions) {
      ORRERY_ASSERT(event->receiver != kFreed, "an event is freed once");
      event->receiver = kFreed;
    }
    pool_.release(event, bytes);
  }

  // ---- Cancelling

  /// Cancels all events that `cause` sent. pop_cancelled_executed() returns local ones that were
  /// executed. Other workers get notices for their executed events.
  void cancel_sent(TwEvent* cause) {
    TwEvent* sent = cause->first_sent;
    cause->first_sent = nullptr;
    while (sent != nullptr) {
      // Read the link first: once the event is marked, its receiver may free it.
      TwEvent* next = sent->sent_next;
      cancel(sent, *cause);
      sent = next;
    }
  }
  /// Removes and returns the lowest cancelled event that was executed here, or nullptr. The caller
  /// undoes it if it still is executed, then frees it. Undoing an event cancels only events with
  /// higher keys, so with the lowest first a cascade rolls each LP back once, however many of its
  /// events are cancelled. A heap instead of a recursion: the depth of a cascade is bounded by
  /// memory, not by the stack.
  TwEvent* pop_cancelled_executed() { return ending_.pop(); }

  // ---- GVT

  /// Publishes what was sent, and counts sent_lowest() from now on. A message that waits for room
  /// in a ring may be published after its receiver has reported, so it counts as sent now.
  void join_round() {
    flush_all();
    ++joined_;
    sent_lowest_ = Key::infinity();
    mesh_.for_each_waiting(index_, [this](Message message) { note_sent(message.event()->key()); });
  }
  /// Lowest key sent to other workers since the round was joined.
  const Key& sent_lowest() const { return sent_lowest_; }
  /// Messages sent to other workers, including those that wait for room, and messages received from
  /// them, since the start of the run.
  std::uint64_t sent() const { return statistics_.remote_events + statistics_.notices; }
  std::uint64_t received() const { return received_; }
  /// Whether all messages sent are received, and all notices received are acted on.
  bool is_empty() const {
    return ending_.empty() && mesh_.all_received(index_) &&
           (rank_link_ == nullptr || rank_link_->egress(index_).is_empty());
  }
  /// Events before `gvt` are never cancelled: drops what was kept for that. Call before any of
  /// these events is freed.
  void commit_sent_to_ranks(const Key& gvt) {
    if (rank_link_ == nullptr) return;
    imports_.commit(gvt);
    exports_.commit(gvt, [this](TwEvent* record) { free(record); });
  }

  /// Bytes of events allocated less those freed here; see EventPool.
  std::int64_t used_bytes() const {
    return pool_.used_bytes() + static_cast<std::int64_t>(imports_.bytes() + exports_.bytes());
  }

 private:
  static constexpr LpId kFreed = 0xffffffff;  ///< no LP has that number

  template <class Payload>
  [[gnu::always_inline]] TwEvent* make(const EventHeader& header, const Payload& payload) {
    auto* event =
        new (pool_.allocate(TwEvent::kPayloadOffset + header.size.bytes())) TwEvent(header);
    if (header.size.bytes() > 0) write_payload(event->payload(), payload, header.size);
    return event;
  }
  void note_sent(const Key& key) { sent_lowest_ = std::min(sent_lowest_, key); }
  [[gnu::always_inline]] void note_receiver(unsigned owner, Time time) {
    late_.note(owner, time);
    if (federate_ != nullptr) [[unlikely]]
      federate_->note_thread(owner, time);
  }

  void cancel(TwEvent* event, const TwEvent& cause) {
    ++statistics_.cancellations;
    if (event->route == Route::exported) [[unlikely]]
      return cancel_on_rank(event, cause);
    if (!event->is_shared()) return cancel_local(event);
    const Key key = event->key();
    const unsigned owner = owners_[event->receiver];
    if (!event->status.cancel_remote()) return;
    ++statistics_.notices;
    note_sent(key);
    note_receiver(owner, key.time());
    mesh_.ring(index_, owner).push(Message::notice(event));
  }
  void cancel_local(TwEvent* event) {
    if (event->status.cancel_local()) ending_.push(event);
  }

  // ---- Other ranks

  [[gnu::noinline]] void send_to_rank(TwEvent* event, TwEvent* cause) {
    rank_link_->send(index_, *event, cause == nullptr ? RankLink::kFinal : cause->time().ticks(),
                     joined_);
    if (federate_ != nullptr) federate_->note_rank(rank_link_->rank_of(*event), event->time());
    if (cause == nullptr) return free(event);
    TwEvent* record = event;
    if (event->size.bytes() > TwEvent::kInlinePayloadBytes) {
      record = cause->first_sent = make_record(*event);
      free(event);
    }
    record->route = Route::exported;
    exports_.add(record, cause->time().ticks());
  }
  TwEvent* make_record(const TwEvent& event) {
    TwEvent* const record = new (pool_.allocate(sizeof(TwEvent)))
        TwEvent(EventHeader(event.key(), event.receiver, event.type, {}));
    record->sent_next = event.sent_next;
    return record;
  }
  /// Sends an antimessage. It holds GVT at the cause until it has arrived, and not at the event:
  /// the receiver drops the entry of an event (imports.h) once the cause is before GVT.
  void cancel_on_rank(TwEvent* record, const TwEvent& cause) {
    ++statistics_.notices;
    note_sent(cause.key());
    rank_link_->cancel(index_, *record, joined_);
    if (federate_ != nullptr) federate_->note_rank(rank_link_->rank_of(*record), record->time());
  }
  /// Handles a message from another rank. True: it is an event, which the caller makes pending;
  /// false: it was an antimessage, which has cancelled its event.
  bool take_from_rank(TwEvent* event) {
    if (event->route == Route::antimessage) {
      TwEvent* const cancelled = imports_.take(event->key());
      if (cancelled == nullptr)
        throw std::logic_error("another rank cancels an event that it has not sent");
      free(event);
      cancel_local(cancelled);
      return false;
    }
    if (event->cause_ticks != RankLink::kFinal) imports_.add(event, event->cause_ticks);
    return true;
  }

  const unsigned index_;
  Mesh& mesh_;
  RankLink* const rank_link_;
  const std::vector<std::uint16_t>& owners_;
  EventPool<64, Pools::many, IntensiveSlabs> pool_;
  WorkerStatistics& statistics_;
  Key sent_lowest_ = Key::infinity();
  std::uint64_t received_ = 0;
  LateEvents late_;
  Federate* federate_ = nullptr;
  Imports imports_;
  Exports exports_;
  std::uint64_t joined_ = 0;  ///< rounds
  pending::DaryHeap<TwEvent> ending_;
};

}  // namespace orrery::timewarp
