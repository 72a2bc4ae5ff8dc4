// SPDX-License-Identifier: Apache-2.0
//
// Reverse handlers, an optional extra (Carothers, Perumalla and Fujimoto, "Efficient optimistic
// parallel simulations using reverse computation", TOMACS 1999). An LP class that has, beside each
//
//   void handle(orrery::Context& context, const Packet& packet);
// also
//   void reverse(orrery::ReverseContext& context, const Packet& packet);
//
// can be rolled back by executing reverse handlers, without copies of its state. This pays where
// the state is large and little of it changes. The model undoes only the changes that its handler
// made to its own members: the platform undoes clock, random stream, sends, timers, rows and
// metrics. A handler can store values that it is about to overwrite for its reverse handler:
//
//   handle:   context.remember(level_);  level_ = packet.level;  ++packets_;
//   reverse:  --packets_;  level_ = context.recall<int>();
//
// Rules: reverse() restores every member to its previous value; values are recalled in the opposite
// order of being remembered; a handler frees nothing that existed before it, since a reverse
// handler cannot bring freed memory back. The checker engine verifies the first on every event.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "orrery/event.h"
#include "orrery/time.h"

namespace orrery {

class ReverseContext {
 public:
  ReverseContext(const ReverseContext&) = delete;
  ReverseContext& operator=(const ReverseContext&) = delete;

  /// Simulation time of the event being undone.
  Time now() const { return now_; }
  /// The LP that undoes the event.
  LpId self() const { return self_; }

  /// The most recently remembered value that is not recalled yet. Model fault: the value has
  /// another size, or there is none.
  template <class T>
  T recall() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(static_cast<void*>(&value), take(sizeof(T)), sizeof(T));
    return value;
  }

 protected:
  ReverseContext(Time now, LpId self, const std::byte* begin, const std::byte* end)
      : now_(now), self_(self), begin_(begin), end_(end) {}
  ~ReverseContext() = default;

  Time now_;
  LpId self_;
  const std::byte* begin_;  // remembered values, each followed by its size in 8 bytes
  const std::byte* end_;    // end of the values not recalled yet

 private:
  const std::byte* take(std::size_t bytes);
};

}  // namespace orrery
