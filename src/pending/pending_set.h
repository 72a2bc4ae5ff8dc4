// SPDX-License-Identifier: Apache-2.0
//
// The pending event set: the events that are scheduled but not yet executed, returned lowest key
// first. This header is the contract. The headers beside it have the kinds, and engine_set.h says
// which kind the engines use.
//
// Guarantees of every kind, so that engines need not know the kind:
//  - Order: `pop` and `top` return the minimum by the whole `Key`. Events with equal keys (an
//    engine may hold some for a moment while a cancelled copy waits beside its successor) come in
//    any order.
//  - Stragglers: an event may be pushed with a key below that of the last pop. The common, fast
//    case is a push that does not go back in time.
//  - Bounds: amortised O(log n) steps an operation, whatever the distribution and the scale of the
//    times: all equal, one at `Time::max()`, or spread over 63 bits.
//  - Memory: proportional to the largest number of events held at once; kept when events leave, so
//    that a warm set allocates nothing. The set never owns the events.
//  - A set belongs to one thread. It is pinned: neither copied nor moved.
//
// The sets hold entries of 16 bytes, time and pointer. The time alone nearly always decides a
// comparison, and following the pointer to the event would cost a cache miss.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/event_header.h"

namespace orrery::pending {

/// The functions that a kind of pending event set must have for events of type `Event`.
///
///  push(event)   puts an event in; the event's key must not change while it is in.
///  top()         the lowest event, or nullptr. May reorganise, hence not const.
///  pop()         takes the lowest event out, or returns nullptr.
///  upcoming(i)   a hint for prefetching: an event that will be popped in about `i` pops (0: the
///                next one), or nullptr where the set does not know it at no cost. No guarantee.
///  announces()   whether `announced` may return events: large sets look further ahead.
///  announced()   one step of announcing, to be called once or twice a pop: prefetches an event and
///                returns one that was prefetched some steps before and will be popped in a few
///                dozen pops, in no particular order, or nullptr. A hint as `upcoming`, but the
///                event is in the set. Reorganisations may announce an event again, or never.
///  drain(f)      calls f(Event*) for all events in no particular order and leaves the set empty.
///                `f` must not access the set.
///  bytes()       memory held, this object included, the events excluded.
template <class Set, class Event>
concept PendingSet = std::derived_from<Event, Key> && std::default_initializable<Set> &&
    requires(Set set, const Set readable, Event* event, std::size_t index, void (*f)(Event*)) {
  { set.push(event) } -> std::same_as<void>;
  { set.top() } -> std::same_as<Event*>;
  { set.pop() } -> std::same_as<Event*>;
  { set.drain(f) } -> std::same_as<void>;
  { readable.size() } -> std::same_as<std::size_t>;
  { readable.empty() } -> std::same_as<bool>;
  { readable.bytes() } -> std::same_as<std::size_t>;
  { readable.upcoming(index) } -> std::same_as<const Event*>;
  { readable.announces() } -> std::same_as<bool>;
  { set.announced() } -> std::same_as<const Event*>;
};

/// Counts the steps of a set: one for each comparison of two entries and for each entry moved. The
/// sets call a probe through a template parameter. This default costs nothing; tests use another
/// one to check the bounds without a clock.
struct NoProbe {
  static constexpr void steps(std::size_t) {}
};

/// The entry that the sets hold for an event.
template <class Event>
struct Entry {
  std::int64_t time;
  Event* event;

  explicit operator bool() const { return event != nullptr; }
};

template <class Event>
inline Entry<Event> entry_of(Event* event) {
  return {static_cast<const Key*>(event)->time().ticks(), event};
}

/// The order of entries in all sets: by time, and for equal times by the whole key.
template <class Event>
inline bool precedes(const Entry<Event>& a, const Entry<Event>& b) {
  bool result = a.time < b.time;
  if (a.time == b.time) [[unlikely]] {
    result = static_cast<const Key&>(*a.event) < static_cast<const Key&>(*b.event);
  }
  return result;
}

}  // namespace orrery::pending
