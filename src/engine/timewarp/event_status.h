// SPDX-License-Identifier: Apache-2.0
//
// Which worker frees an event. The sender allocates it and keeps a pointer to it; the receiver's
// worker executes it and frees it. Cancellation is direct: the sender marks the event itself,
// without antimessages. Sender and receiver agree through four bytes in the event, two bits of them
// used: *claimed*, which the receiver sets when it takes the event for execution and clears when it
// undoes it, and *cancelled*, which the sender sets once at most and no worker clears.
//
// An event whose sender and receiver have the same worker is *local*: that thread alone touches it,
// so relaxed loads and stores suffice and no instruction is locked. A cancelled local event that is
// pending is freed when it is popped. A cancelled local event that was executed is freed by its
// worker when it has rolled the LP back, and undoing it does not make it pending again.
//
// For a *remote* event each side changes the bits with one atomic read-modify-write, and the order
// of these decides which side ends the event:
//   - cancelled before it was claimed (or after it was undone): the receiver finds the mark when it
//     claims the event, or when it sweeps its pending events, and frees it;
//   - claimed before it was cancelled: the sender finds it claimed and must send the receiver a
//     *notice*; the receiver frees the event when the notice arrives, after undoing it if it still
//     is executed. If the receiver undid the event before, it found the mark while doing so and did
//     not make the event pending again, so only the notice refers to it.
// In both cases the sender reads nothing of the event after its mark: the receiver may have freed
// it. An event that is neither cancelled nor to be cancelled is freed when it is committed: then
// its cause is before GVT and is not rolled back either, so its sender never follows the pointer
// again.
//
// Memory orders. All changes of one event's bits have one modification order, whatever their memory
// order, and that alone decides which side does what. One thing remains: the receiver's reuse of
// the memory must come after the sender's last read of the event (its key, its link), which
// precedes the mark:
//   cancel          release, so that a thread that acquires the mark comes after these reads;
//   claim, sweep    acquire, since they free what they find marked. Changes between the mark and
//                   the load continue the mark's release sequence, being read-modify-writes;
//   undo            relaxed: it frees nothing; a notice does, and the ring that carries it orders;
//   was it claimed  relaxed: asked by the receiver's worker, which alone changes that bit.
// The payload needs no order here: the ring that brought the event published it.
#pragma once

#include <cstdint>

#include "transport/atomics.h"

namespace orrery::timewarp {

template <class Atomics = transport::StandardAtomics>
class EventStatus {
 public:
  // Receiver's worker.
  /// Takes the event for execution. False: it is cancelled, and the caller frees it.
  bool claim_local() {
    const std::uint32_t before = bits_.load(std::memory_order_relaxed);
    bits_.store(before | kClaimed, std::memory_order_relaxed);
    return (before & kCancelled) == 0;
  }
  bool claim_remote() {
    return (bits_.fetch_or(kClaimed, std::memory_order_acquire) & kCancelled) == 0;
  }
  /// The execution is undone. True: the event is pending again. False: it is cancelled, and left to
  /// the cancellation.
  bool undo_local() {
    const std::uint32_t before = bits_.load(std::memory_order_relaxed);
    bits_.store(before & ~kClaimed, std::memory_order_relaxed);
    return (before & kCancelled) == 0;
  }
  bool undo_remote() {
    return (bits_.fetch_and(~kClaimed, std::memory_order_relaxed) & kCancelled) == 0;
  }
  /// Whether the event still is executed; for the worker that ends a cancelled event.
  bool is_claimed() const { return (bits_.load(std::memory_order_relaxed) & kClaimed) != 0; }
  /// Whether a pending event can be freed without waiting for its time.
  bool is_cancelled() const { return (bits_.load(std::memory_order_acquire) & kCancelled) != 0; }

  // Sender's worker. Once at most.
  /// True: the event was executed. For a local event, the caller rolls its LP back and frees the
  /// event; for a remote one, it sends the receiver a notice.
  bool cancel_local() {
    const std::uint32_t before = bits_.load(std::memory_order_relaxed);
    bits_.store(before | kCancelled, std::memory_order_relaxed);
    return (before & kClaimed) != 0;
  }
  /// The event may be freed when this returns.
  bool cancel_remote() {
    return (bits_.fetch_or(kCancelled, std::memory_order_release) & kClaimed) != 0;
  }

 private:
  static constexpr std::uint32_t kClaimed = 1;
  static constexpr std::uint32_t kCancelled = 2;

  typename Atomics::template atomic<std::uint32_t> bits_{0};
};
static_assert(sizeof(EventStatus<>) == 4);

}  // namespace orrery::timewarp
