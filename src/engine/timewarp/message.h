// SPDX-License-Identifier: Apache-2.0
//
// A message between workers: a pointer to an event, or a notice that an event was cancelled.
#pragma once

#include <cstdint>

#include "engine/timewarp/event.h"
#include "transport/mesh.h"

namespace orrery::timewarp {

/// An event on its way to its receiver's worker, or a notice to that worker that the event was
/// cancelled.
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

}  // namespace orrery::timewarp
