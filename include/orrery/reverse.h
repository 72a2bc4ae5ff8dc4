// SPDX-License-Identifier: Apache-2.0
//
// Reverse handlers, an optional extra (Carothers, Perumalla and Fujimoto, "Efficient optimistic
// parallel simulations using reverse computation", TOMACS 1999). An LP class that has, beside each
//
//   void handle(orrery::Context& context, const Packet& packet);
// also
//   void reverse(orrery::ReverseContext& context, const Packet& packet);
//
// can be rolled back by running its events backwards, without copies of its state: worth it where
// the state is large and little of it changes. The model undoes what its handler did to its own
// members, and nothing else: clock, random stream, sends, timers, rows and metrics are the
// platform's. What a handler is about to overwrite, it can leave for its reverse:
//
//   handle:   context.remember(level_);  level_ = packet.level;  ++packets_;
//   reverse:  --packets_;  level_ = context.recall<int>();
//
// Rules: reverse() brings every member back to the value that it had; values are recalled in the
// opposite order of being remembered; a handler frees nothing that existed before it, since freed
// memory cannot be brought back by a handler. The checker engine proves the first on every event.
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
  /// The LP that undoes it.
  LpId self() const { return self_; }

  /// The value that was remembered last and is not recalled yet. Model fault: its size is another,
  /// or there is none.
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
  const std::byte* end_;    // of those not recalled yet

 private:
  const std::byte* take(std::size_t bytes);
};

}  // namespace orrery
