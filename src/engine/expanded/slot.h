// SPDX-License-Identifier: Apache-2.0
//
// A worker gets events and returns results through its slot: a ring with one producer and one
// consumer each way. The first cache line of either side holds all that a hand-over of single
// events needs: the counter and the first places of the ring.
//
// Memory orders. The server, the thread that serves the slot, writes `ring` and `mask`, then `word`
// with seq_cst. The worker reads `word` with acquire, then the ring: it sees everything that
// precedes the store, including the LPs' states and the events. The worker writes `results`, its
// LPs and their events, then `done` with seq_cst; the server reads `done` with acquire (seq_cst
// before it sleeps). Neither side writes a place again before the other side's counter has passed
// it. The server writes `served` after it has taken the results; the worker only compares `served`
// with its own counter, relaxed: if it reads an old value it reads again. `busy_cycles` has one
// writer, the worker, and nothing depends on it: relaxed.
//   seq_cst and not release, because of sleep: a sleeper sets `sleeping`, then reads the counter;
//   the other side sets the counter, then reads `sleeping`. In the single total order of these four
//   operations one of the two reads the other's store, so no thread sleeps through a hand-over.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

#include "engine/expanded/executor.h"
#include "run/threads/waiting.h"

namespace orrery::expanded {

inline constexpr std::uint32_t kMostInSlot = 64;

/// What a worker does when it has executed the events that it was given.
enum class Command : std::uint32_t { wait, serve, leave };

struct alignas(64) Slot {
  // Written by the server.
  std::atomic<std::uint32_t> word{0};  ///< events handed over so far * 4 + Command
  std::uint32_t mask = 0;              ///< of the ring: its length - 1
  std::array<Event*, kMostInSlot> ring{};

  // Written by the worker.
  alignas(64) std::atomic<std::uint32_t> done{0};  ///< events executed so far, modulo 2^30
  std::atomic<std::uint32_t> sleeping{0};
  std::atomic<std::uint64_t> busy_cycles{0};  ///< spent in handlers so far
  std::array<Result, kMostInSlot> results{};

  // Used by the server only, but for `served`.
  alignas(64) std::atomic<std::uint32_t> served{0};  ///< results taken so far
  std::uint32_t given = 0;                           ///< events in the ring so far
  std::uint32_t published = 0;
  std::array<std::uint32_t, kMostInSlot> handles{};

  static constexpr std::uint32_t kCounterMask = (1u << 30) - 1;
  static std::uint32_t count_of(std::uint32_t word) { return word >> 2; }
  static Command command_of(std::uint32_t word) { return static_cast<Command>(word & 3); }

  /// Events given whose results the server has not taken.
  std::uint32_t held() const {
    return (given - served.load(std::memory_order_relaxed)) & kCounterMask;
  }
  bool has_results() const {
    return done.load(std::memory_order_seq_cst) != served.load(std::memory_order_relaxed);
  }
  void give(Event* event, std::uint32_t handle) {
    ring[given & mask] = event;
    handles[given & mask] = handle;
    given = (given + 1) & kCounterMask;
  }
  /// Takes the event that was given last back; it must not be published yet.
  std::pair<Event*, std::uint32_t> take_back() {
    given = (given - 1) & kCounterMask;
    return {ring[given & mask], handles[given & mask]};
  }
  void publish(Command command) {
    published = given;
    const std::uint32_t next = (given << 2) | static_cast<std::uint32_t>(command);
    word.store(next, std::memory_order_seq_cst);
    if (sleeping.load(std::memory_order_seq_cst) != 0) word.notify_one();
  }

  /// Called by the worker: it has spent `cycles` in handlers.
  void add_busy(std::uint64_t cycles) {
    busy_cycles.store(busy_cycles.load(std::memory_order_relaxed) + cycles,
                      std::memory_order_relaxed);
  }
  /// Called by the worker: waits until `word` is not `last`, and returns it.
  std::uint32_t wait_for_word(std::uint32_t last, const SpinThenYield& waiting) {
    if (waiting.wait([&] { return word.load(std::memory_order_acquire) != last; }))
      return word.load(std::memory_order_acquire);
    sleeping.store(1, std::memory_order_seq_cst);
    std::uint32_t now;
    while ((now = word.load(std::memory_order_seq_cst)) == last) word.wait(last);
    sleeping.store(0, std::memory_order_relaxed);
    return now;
  }
};

/// Where the thread that serves all slots sleeps until any worker has results.
struct alignas(64) Doorbell {
  std::atomic<std::uint32_t> rings{0};
  std::atomic<std::uint32_t> sleeping{0};

  /// After a worker's `done`; seq_cst as in Slot.
  void ring_if_asleep() {
    if (sleeping.load(std::memory_order_seq_cst) == 0) return;
    rings.fetch_add(1, std::memory_order_seq_cst);
    rings.notify_one();
  }
  template <class Ready>
  void wait(Ready&& ready, const SpinThenYield& waiting) {
    if (waiting.wait(ready)) return;
    for (;;) {
      const std::uint32_t before = rings.load(std::memory_order_seq_cst);
      sleeping.store(1, std::memory_order_seq_cst);
      if (ready()) break;
      rings.wait(before);
    }
    sleeping.store(0, std::memory_order_relaxed);
  }
};

}  // namespace orrery::expanded
