// SPDX-License-Identifier: Apache-2.0
//
// The pending event set: the events that are scheduled but not yet executed, handed out lowest key
// first. This header is the contract; the kinds are in the headers beside it, and engine_set.h says
// which one engines use.
//
// What every kind promises, so that engines need not know which one they run:
//  - Order: `pop` and `top` yield the minimum by the whole `Key`. Events with equal keys (which an
//    engine may hold for a moment while a cancelled copy waits beside its successor) come in any
//    order.
//  - Stragglers: an event may be pushed with a key below the last one popped. Pushes that do not
//    go back in time are the common case and the fast one.
//  - Bounds: amortised O(log n) steps an operation, whatever the distribution of the times. No
//    assumption on the time's scale: all equal, one at `Time::max()`, or spread over 63 bits.
//  - Memory: proportional to the largest number of events held at once; kept when events leave, so
//    that a warm set allocates nothing. The set never owns the events.
//  - A set belongs to one thread. It is pinned: neither copied nor moved.
//
// The sets hold entries of 16 bytes, time and pointer, because a comparison that follows a pointer
// to the event costs a cache miss, and the time alone nearly always decides.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/event_header.h"

namespace orrery::pending {

/// What a kind of pending event set must offer for events of type `Event`.
///
///  push(event)   puts an event in; the event's key must not change while it is in.
///  top()         the lowest event, or nullptr. May reorganise, hence not const.
///  pop()         takes the lowest event out, or returns nullptr.
///  upcoming(i)   a hint for prefetching: an event that will be popped in about `i` pops (0: the
///                next one), or nullptr where that is not known for nothing. Never to be relied on.
///  announces()   whether `announced` may have something: large sets look further ahead.
///  announced()   a step of it, to be called once or twice a pop: prefetches an event, and returns
///                one that was prefetched some steps before and will be popped in a few dozen pops,
///                in no particular order, or nullptr. A hint as `upcoming`; what is returned is in
///                the set. Reorganisations may announce an event again, or never.
///  drain(f)      calls f(Event*) for all events in no particular order and leaves the set empty.
///                `f` must not touch the set.
///  bytes()       memory held, this object included, the events not.
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
/// sets call it through a template parameter; this one, the default, costs nothing. The tests use
/// another to check the bounds without a clock.
struct NoProbe {
  static constexpr void steps(std::size_t) {}
};

/// What the sets hold in place of an event.
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

/// The one order of entries: by time, and where times are equal by the whole key.
template <class Event>
inline bool precedes(const Entry<Event>& a, const Entry<Event>& b) {
  bool result = a.time < b.time;
  if (a.time == b.time) [[unlikely]] {
    result = static_cast<const Key&>(*a.event) < static_cast<const Key&>(*b.event);
  }
  return result;
}

}  // namespace orrery::pending
