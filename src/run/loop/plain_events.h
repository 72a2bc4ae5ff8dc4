// SPDX-License-Identifier: Apache-2.0
//
// The pending events of a thread that executes each event once: their memory, the pending event
// set, the prefetching of what the next events need, and cancelled timers. Engines that roll back
// keep more about an event and have sets of their own.
#pragma once

#include <cstdint>
#include <vector>

#include "core/assert.h"
#include "core/dead_timer.h"
#include "pending/erase_if.h"
#include "pending/pending_set.h"
#include "run/events/dead_timer_count.h"
#include "run/events/event_list.h"
#include "run/events/event_pool.h"
#include "run/events/plain_event.h"
#include "run/loop/look_ahead.h"

namespace orrery::loop {

/// For events whose set goes from thread to thread: the pool of the thread that has the set.
class PoolOfThread {
 public:
  explicit PoolOfThread(EventPool<64>* pool = nullptr) : pool_(pool) {}
  [[gnu::always_inline]] void* allocate(std::size_t bytes) { return pool_->allocate(bytes); }
  [[gnu::always_inline]] void release(void* event, std::size_t bytes) {
    pool_->release(event, bytes);
  }

 private:
  EventPool<64>* pool_;
};

/// `Record`: an engine's record of an LP, with the pointer `object` and the state `kernel`. `Pool`:
/// an EventPool or PoolOfThread.
template <class Pending, class Record, class Pool>
class PlainEvents {
 public:
  explicit PlainEvents(EventDepot& depot) : pool_(depot) {}
  explicit PlainEvents(PoolOfThread pool = PoolOfThread()) : pool_(pool) {}
  PlainEvents(const PlainEvents&) = delete;
  PlainEvents& operator=(const PlainEvents&) = delete;

  void use(PoolOfThread pool) { pool_ = pool; }
  /// See pending/radix_heap.h.
  void announce_from(std::size_t size) { pending_.announce_from(size); }
  PlainEvent* top() { return pending_.top(); }
  void pop() { pending_.pop(); }
  std::size_t size() const { return pending_.size(); }
  std::size_t bytes() const { return pending_.bytes(); }
  /// Makes an event that is not pending yet; it belongs to this object's depot.
  template <class Payload>
  [[gnu::always_inline]] PlainEvent* make(const EventHeader& header, const Payload& payload) {
    return PlainEvent::make(pool_, header, payload);
  }
  void push(PlainEvent* event) { push(pending::entry_of(event)); }
  /// Without a look at the event.
  [[gnu::noinline]] void push(const pending::Entry<PlainEvent>& entry) {
    pending_.push_inline(entry);
  }
  template <class Payload>
  [[gnu::always_inline]] void push(const EventHeader& header, const Payload& payload) {
    pending_.push_inline(pending::entry_of(make(header, payload)));
  }
  [[gnu::always_inline]] void release(PlainEvent* event) { pool_.release(event, event->bytes()); }
  /// Calls take(event) for each pending event, in any order; none is pending afterwards.
  template <class Take>
  void drain(Take&& take) {
    pending_.drain(take);
  }
  /// Moves all pending events to `list`, by copies; their memory goes with the depot.
  void give_to(EventList& list) {
    drain([&list](PlainEvent* event) { list.append(*event, event->payload()); });
  }

  /// Begins an event that was taken from the set, in `execution`; returns the record of its LP.
  /// nullptr if the event is a timer that its LP has cancelled: then the event is freed. `more`: as
  /// of LookAhead::step.
  template <class Records, class Execution, class More = NothingElse>
  [[gnu::always_inline]] Record* begin(PlainEvent* event, Records& records, Execution& execution,
                                       const More& more = {}) {
    Record& lp = records[event->receiver];
    prefetch_next(pending_, records);
    if (pending_.announces()) [[unlikely]]
      look_ahead_.step(pending_, records, more);
    if constexpr (kAssertions) {
      ORRERY_ASSERT(event->key() > last_, "events are handled in the order of keys");
      last_ = event->key();
    }
    if (is_dead_timer(*lp.object, *event, event->payload())) [[unlikely]] {
      release(event);
      dead_timer_count_.note_dropped();
      return nullptr;
    }
    execution.begin(*event, event->payload(), *lp.object, lp.kernel);
    return &lp;
  }

  /// Frees cancelled timers whose time has not come, if they are most of the pending events.
  /// `cancelled`: timers that handlers of this thread have cancelled so far.
  template <class Records>
  void reclaim_if_many(std::uint64_t cancelled, Records& records) {
    if (dead_timer_count_.are_many(cancelled, pending_.size())) reclaim(cancelled, records);
  }

 private:
  template <class Records>
  [[gnu::noinline]] void reclaim(std::uint64_t cancelled, Records& records) {
    std::vector<PlainEvent*> scratch;
    pending::erase_if(pending_, scratch, [&](PlainEvent* event) {
      if (!is_dead_timer(*records[event->receiver].object, *event, event->payload())) return false;
      release(event);
      return true;
    });
    dead_timer_count_.note_reclaimed(cancelled);
  }

  Pool pool_;
  Pending pending_;
  DeadTimerCount dead_timer_count_;
  LookAhead<Record> look_ahead_;
  Key last_;  ///< that was begun; only where assertions are checked
};

}  // namespace orrery::loop
