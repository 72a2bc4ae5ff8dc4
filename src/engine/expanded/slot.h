// SPDX-License-Identifier: Apache-2.0
//
// A worker gets events and returns results through its slot: a ring with one consumer each way. The
// thread that serves the slots is their one producer and their one collector; it holds the lock of
// the run (run_dealing.cpp).
//
// Memory orders. The server writes `ring`, then `word` with seq_cst. The worker reads `word` with
// acquire, then the ring: it sees everything that precedes the store, including the LPs' states and
// the events. The worker writes `results`, its LPs and their events, then `done` with seq_cst; the
// server reads `done` with acquire. Neither side writes a place again before the other side's
// counter has passed it. The server writes `served` after it has taken the results; the worker only
// compares `served` with its own counter, relaxed: if it reads an old value it reads again.
// `busy_cycles` has one writer, the worker, and nothing depends on it: relaxed.
//   seq_cst and not release, because of sleep: a sleeper sets `sleeping`, then reads `word`; the
//   other side changes `word`, then reads `sleeping`. In the single total order of these four
//   operations one of the two reads the other's store, so no thread sleeps through a hand-over.
//   `word` is only changed by single atomic operations, so that a call needs no lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "engine/expanded/executor.h"
#include "run/threads/waiting.h"

namespace orrery::expanded {

inline constexpr std::uint32_t kMostInSlot = 64;

struct alignas(64) Slot {
  // Written by the server.
  std::atomic<std::uint32_t> word{0};  ///< events handed over so far * 4, kCall, kLeave
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

  static constexpr std::uint32_t kLeave = 1, kCall = 2;
  static constexpr std::uint32_t kCounterMask = (1u << 30) - 1;
  static std::uint32_t count_of(std::uint32_t word) { return word >> 2; }
  static std::uint32_t distance(std::uint32_t from, std::uint32_t to) {
    return (to - from) & kCounterMask;
  }
  static std::uint32_t place(std::uint32_t count) { return count % kMostInSlot; }

  /// Whether the events that `announced` counts are executed.
  bool is_done(std::uint32_t announced) const {
    return count_of(announced) == done.load(std::memory_order_relaxed);
  }
  /// Events given whose results the server has not taken.
  std::uint32_t held() const { return distance(served.load(std::memory_order_relaxed), given); }
  bool has_results() const {
    return done.load(std::memory_order_acquire) != served.load(std::memory_order_relaxed);
  }
  void give(Event* event, std::uint32_t handle) {
    ring[place(given)] = event;
    handles[place(given)] = handle;
    given = (given + 1) & kCounterMask;
  }
  /// Announces the events given so far.
  void publish() {
    const std::uint32_t more = distance(published, given);
    if (more == 0) return;
    published = given;
    word.fetch_add(more << 2, std::memory_order_seq_cst);
    wake();
  }
  /// Ends the worker's wait without events. By any thread.
  void call() {
    word.fetch_or(kCall, std::memory_order_seq_cst);
    wake();
  }
  /// Called by the worker before it looks at all that calls are for; returns the word.
  std::uint32_t take_calls() { return word.fetch_and(~kCall, std::memory_order_seq_cst) & ~kCall; }
  /// Makes the worker leave when it has executed its events.
  void dismiss() {
    word.fetch_or(kLeave, std::memory_order_seq_cst);
    wake();
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

 private:
  void wake() {
    if (sleeping.load(std::memory_order_seq_cst) != 0) word.notify_one();
  }
};

}  // namespace orrery::expanded
