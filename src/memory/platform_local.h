// SPDX-License-Identifier: Apache-2.0
//
// The thread-local variables of the platform. When a worker leaves a handler in mid-event to
// execute other events (run/containment/preemption.h), it saves the thread-local variables of the
// program for the handler and restores them afterwards. Variables of the platform must keep the
// values that they have by then, so each one registers itself beside its definition. './dev lint'
// finds a file that defines one and registers none.
#pragma once

#include <cstddef>

namespace orrery::memory {

class PlatformLocal {
 public:
  /// `Address`: a lambda without captures that returns a pointer to the calling thread's variable.
  /// Only for static objects: they are made before the program has a second thread.
  template <class Address>
  explicit PlatformLocal(Address)
      : address_([]() -> void* { return Address{}(); }),
        bytes_(sizeof *Address{}()),
        next_(first_) {
    first_ = this;
  }
  PlatformLocal(const PlatformLocal&) = delete;
  PlatformLocal& operator=(const PlatformLocal&) = delete;

  /// Calls visit(address, bytes) for each variable of the calling thread.
  template <class Visit>
  static void for_each(Visit&& visit) {
    for (const PlatformLocal* local = first_; local != nullptr; local = local->next_)
      visit(local->address_(), local->bytes_);
  }

 private:
  inline static constinit const PlatformLocal* first_ = nullptr;

  void* (*const address_)();
  const std::size_t bytes_;
  const PlatformLocal* const next_;
};

}  // namespace orrery::memory
