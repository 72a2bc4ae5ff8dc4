// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints that a copier thread copies while the worker goes on (Santoro and Quaglia,
// "Multiprogrammed non-blocking checkpoints in support of optimistic simulation on myrinet
// clusters", J. Systems Architecture 2007; there a network card copies).
//
// A worker has a ring of slots. A slot is one checkpoint: rows of memory to copy, cut into bursts.
// Worker and copier take bursts from a slot through one counter, so each burst is copied once. A
// worker that needs the LP back takes the remaining bursts, to copy them (finish) or to drop them
// (abort). It then waits at most for the one burst that the copier is copying. Slots are processed
// in order, without locks. Neither side makes a system call to wake the other: an idle copier polls
// with growing pauses, and the worker finishes a copy that the copier reaches too late.
//
// Ownership: the worker fills a slot and publishes it by `head_`. From then on the copier reads the
// slot, until it has moved `tail_` past it.
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
struct CheckpointRecord;

class CopyQueue {
 public:
  struct Row {
    std::byte* to;
    const std::byte* from;
    std::size_t bytes;
  };
  struct alignas(64) Slot {
    /// Next burst to take; `bursts` or more: none left. Relaxed: it only decides who takes a burst.
    std::atomic<std::uint32_t> taken{0};
    /// Bursts copied. Release by the copier, acquire by the worker before the LP runs again: all
    /// reads of the LP's memory precede the LP's next writes, and the image is complete.
    std::atomic<std::uint32_t> copied{0};
    std::uint32_t bursts = 0;
    bool past_caches = false;  ///< copied with non-temporal stores
    std::vector<Row> rows;
    std::vector<std::uint32_t> first_row;  ///< first row of each burst, and the end of the last
    // For the worker alone, never read by the copier:
    Checkpoint* checkpoint = nullptr;  ///< the checkpoint that is being made
    CheckpointRecord* lp = nullptr;    ///< the LP's record, until the copy is known to have ended
  };

  CopyQueue();
  CopyQueue(const CopyQueue&) = delete;
  CopyQueue& operator=(const CopyQueue&) = delete;

  // ---- The worker's side.

  /// The slot to fill, or nullptr if the copier still uses it. Its former copy has ended.
  Slot* next_free();
  /// Cuts the slot's rows into bursts. Throws std::bad_alloc.
  static void cut(Slot& slot, std::size_t burst_bytes);
  /// Hands the slot over to the copier.
  void publish(Slot& slot);
  static double progress(const Slot& slot) {
    return static_cast<double>(slot.copied.load(std::memory_order_relaxed)) / slot.bursts;
  }
  static bool complete(const Slot& slot) {
    return slot.copied.load(std::memory_order_acquire) == slot.bursts;
  }
  /// Copies the remaining bursts; returns when the copy is complete.
  static void finish(Slot& slot);
  /// Drops the remaining bursts; returns when no thread accesses the rows' memory any more.
  static void abort(Slot& slot);

  // ---- The copier's side.

  /// Copies the published slots; returns the number of bursts that it copied.
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

/// The threads that copy. They and copying in place share one interface, so that a copy engine of
/// the machine (Intel DSA, or a graphics card's) can take their place.
class Copier {
 public:
  virtual ~Copier() = default;
  /// Whether copies run in parallel to the worker; if not, the worker makes them at once.
  virtual bool asynchronous() const = 0;
  /// Copies of worker `index` go through this queue.
  virtual CopyQueue& queue(unsigned index) = 0;
  /// Ends all activity; queues may be read afterwards.
  virtual void stop() = 0;
  /// Share of time spent on copying, from 0 to 1.
  virtual double utilisation() const = 0;
};

struct CopierBackend {
  std::string_view name, summary;
  /// Throws UsageError if the machine does not have the back-end.
  std::unique_ptr<Copier> (*make)(unsigned workers, unsigned copiers);
};

/// Throws UsageError with the list of names.
const CopierBackend& find_copier_backend(std::string_view name);
/// "thread, synchronous"
std::string copier_names();

}  // namespace orrery::checkpoint
