// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints that another thread copies while the worker goes on (Santoro and Quaglia,
// "Multiprogrammed non-blocking checkpoints in support of optimistic simulation on myrinet
// clusters", J. Systems Architecture 2007; there a network card copies).
//
// A worker has a ring of slots. A slot is one checkpoint: rows of memory to be copied, cut into
// bursts. Both sides take bursts from it through one counter, so each is copied once, by whoever
// took it; the worker that wants the LP back takes the remaining bursts itself or takes them all
// away, and then waits at most for the one burst that the copier is in. Slots are worked through in
// order, without locks; neither side makes a system call to wake the other: an idle copier polls
// with growing pauses, and a copy that it comes too late for is finished by its worker.
//
// Who owns what: the worker fills a slot and publishes it by `head_`; from then on the copier reads
// it, until it has moved `tail_` past it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace orrery::checkpoint {

struct Checkpoint;
struct Kept;

class CopyQueue {
 public:
  struct Row {
    std::byte* to;
    const std::byte* from;
    std::size_t bytes;
  };
  struct alignas(64) Slot {
    /// Next burst that nobody has taken; `bursts` or more: none. Relaxed: taking is all it decides.
    std::atomic<std::uint32_t> taken{0};
    /// Bursts copied. Release by who copied, acquire by the worker before the LP runs again: what
    /// was read of the LP's memory was read before the LP writes it, and the image is complete.
    std::atomic<std::uint32_t> copied{0};
    std::uint32_t bursts = 0;
    bool past_caches = false;  ///< copied with non-temporal stores
    std::vector<Row> rows;
    std::vector<std::uint32_t> first_row;  ///< of each burst, and one more for the end
    // The worker's own, never read by the copier:
    Checkpoint* checkpoint = nullptr;  ///< that is being made
    Kept* lp = nullptr;                ///< whose copy it is, until that is known to be over
  };

  CopyQueue();
  CopyQueue(const CopyQueue&) = delete;
  CopyQueue& operator=(const CopyQueue&) = delete;

  // ---- The worker's side.

  /// The slot to fill, or nullptr if the copier has not come that far. What it held before is over.
  Slot* next_free();
  /// Cuts the slot's rows into bursts. Throws std::bad_alloc.
  static void cut(Slot& slot, std::size_t burst_bytes);
  /// Hands it over.
  void publish(Slot& slot);
  static double progress(const Slot& slot) {
    return static_cast<double>(slot.copied.load(std::memory_order_relaxed)) / slot.bursts;
  }
  static bool complete(const Slot& slot) {
    return slot.copied.load(std::memory_order_acquire) == slot.bursts;
  }
  /// Copies what is left; returns when the copy is complete.
  static void finish(Slot& slot);
  /// Takes what is left away; returns when nobody touches what the rows point to any more.
  static void abort(Slot& slot);

  // ---- The copier's side.

  /// Works through what was published; returns the bursts it copied.
  std::uint64_t work();

 private:
  static void copy_burst(const Slot& slot, std::uint32_t burst);
  static void await(const Slot& slot, std::uint32_t copied);

  std::array<std::unique_ptr<Slot>, 256> slots_;
  /// Slots published. Release: the slot's contents before it; acquire by the copier.
  alignas(64) std::atomic<std::uint64_t> head_{0};
  /// Slots that the copier will not touch again. Release: its last reads before it; acquire by the
  /// worker before it fills the slot again.
  alignas(64) std::atomic<std::uint64_t> tail_{0};
};

/// The threads that copy. Behind one interface with copying in place, so that an engine for copies
/// that a machine has (Intel DSA, a graphics card's) can take the place of the threads.
class Copier {
 public:
  virtual ~Copier() = default;
  /// Whether copies go on beside the worker; if not, the worker makes them at once.
  virtual bool asynchronous() const = 0;
  /// Copies of worker `index` go through this queue.
  virtual CopyQueue& queue(unsigned index) = 0;
  /// Ends all activity; queues may be looked at afterwards.
  virtual void stop() = 0;
  /// Share of its time that it copied, from 0 to 1.
  virtual double utilisation() const = 0;
};

struct CopierBackend {
  std::string_view name, summary;
  /// Throws UsageError where the machine does not have it.
  std::unique_ptr<Copier> (*make)(unsigned workers, unsigned copiers);
};

/// Throws UsageError with the names there are.
const CopierBackend& find_copier_backend(std::string_view name);
/// "thread, synchronous"
std::string copier_names();

}  // namespace orrery::checkpoint
