// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/copier.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "core/cycles.h"
#include "memory/raw.h"
#include "orrery/error.h"

namespace orrery::checkpoint {
namespace {

/// Images of this size bypass the caches, since they are not read soon. Measured: no difference at
/// 256 KiB and less; at 1 MiB 96 us instead of 124.
constexpr std::size_t kNonTemporalBytes = 512 * 1024;

/// Streaming stores of 16 bytes; the caller must call end_streaming after them.
void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(__SSE2__) && !defined(__SANITIZE_ADDRESS__)
  if (reinterpret_cast<std::uintptr_t>(to) % 16 == 0 && bytes % 16 == 0) {
    auto* target = reinterpret_cast<__m128i*>(to);
    const auto* source = reinterpret_cast<const __m128i*>(from);
    for (std::size_t i = 0; i < bytes / 16; ++i)
      _mm_stream_si128(target + i, _mm_loadu_si128(source + i));
    return;
  }
#endif
  memory::raw_copy(to, from, bytes);
}

/// Needed because a release does not order streaming stores.
void end_streaming() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

void pause_briefly() {
#if defined(__SSE2__)
  _mm_pause();
#endif
}

}  // namespace

CopyQueue::CopyQueue() {
  for (auto& slot : slots_) slot = std::make_unique<Slot>();
}

CopyQueue::Slot* CopyQueue::next_free() {
  const std::uint64_t head = head_.load(std::memory_order_relaxed);  // the worker's own
  if (head - tail_.load(std::memory_order_acquire) == slots_.size()) return nullptr;
  return slots_[head % slots_.size()].get();
}

void CopyQueue::cut(Slot& slot, std::size_t burst_bytes) {
  slot.first_row.clear();
  std::size_t filled = burst_bytes, total = 0;
  for (std::uint32_t row = 0; row < slot.rows.size(); ++row) {
    if (filled >= burst_bytes) {
      slot.first_row.push_back(row);
      filled = 0;
    }
    filled += slot.rows[row].bytes;
    total += slot.rows[row].bytes;
  }
  slot.past_caches = total >= kNonTemporalBytes;
  slot.bursts = static_cast<std::uint32_t>(slot.first_row.size());
  slot.first_row.push_back(static_cast<std::uint32_t>(slot.rows.size()));
}

void CopyQueue::publish(Slot& slot) {
  slot.taken.store(0, std::memory_order_relaxed);   // published with the slot
  slot.copied.store(0, std::memory_order_relaxed);  // published with the slot
  head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void CopyQueue::copy_burst(const Slot& slot, std::uint32_t burst) {
  for (std::uint32_t i = slot.first_row[burst]; i < slot.first_row[burst + 1]; ++i) {
    const Row& row = slot.rows[i];
    if (slot.past_caches) {
      copy_past_caches(row.to, row.from, row.bytes);
    } else {
      memory::raw_copy(row.to, row.from, row.bytes);  // whole chunks, with their slack
    }
  }
  if (slot.past_caches) end_streaming();
}

void CopyQueue::finish(Slot& slot) {
  std::uint32_t own = 0;
  for (;;) {
    const std::uint32_t burst = slot.taken.fetch_add(1, std::memory_order_relaxed);
    if (burst >= slot.bursts) break;
    copy_burst(slot, burst);
    ++own;
  }
  await(slot, slot.bursts - own);
  slot.copied.store(slot.bursts, std::memory_order_relaxed);  // only this thread reads it now
}

void CopyQueue::abort(Slot& slot) {
  const std::uint32_t taken = slot.taken.exchange(slot.bursts, std::memory_order_relaxed);
  await(slot, std::min(taken, slot.bursts));
}

/// Waits until the copier has finished its current burst. It may have lost its core in the middle.
void CopyQueue::await(const Slot& slot, std::uint32_t copied) {
  for (unsigned polls = 0; slot.copied.load(std::memory_order_acquire) < copied; ++polls) {
    if (polls < 256) {
      pause_briefly();
    } else {
      std::this_thread::yield();
    }
  }
}

std::uint64_t CopyQueue::work() {
  std::uint64_t done = 0;
  const std::uint64_t head = head_.load(std::memory_order_acquire);
  for (std::uint64_t at = tail_.load(std::memory_order_relaxed); at < head; ++at) {
    Slot& slot = *slots_[at % slots_.size()];
    for (;;) {
      const std::uint32_t burst = slot.taken.fetch_add(1, std::memory_order_relaxed);
      if (burst >= slot.bursts) break;
      copy_burst(slot, burst);
      slot.copied.fetch_add(1, std::memory_order_release);
      ++done;
    }
    tail_.store(at + 1, std::memory_order_release);
  }
  return done;
}

namespace {

/// Makes copies at once, on the worker, as a baseline for comparison.
class SynchronousCopier final : public Copier {
 public:
  bool asynchronous() const override { return false; }
  CopyQueue& queue(unsigned) override { return none_; }
  void stop() override {}
  double utilisation() const override { return 0; }

 private:
  CopyQueue none_;
};

/// Helper threads. Thread i serves the workers whose number modulo the number of threads is i.
class ThreadCopier final : public Copier {
 public:
  ThreadCopier(unsigned workers, unsigned copiers) {
    for (unsigned i = 0; i < workers; ++i) queues_.push_back(std::make_unique<CopyQueue>());
    busy_cycles_.resize(copiers);
    start_ = read_cycles();
    try {
      for (unsigned i = 0; i < copiers; ++i)
        threads_.emplace_back(
            [this, i, copiers](std::stop_token stop) { serve(i, copiers, stop); });
    } catch (const std::system_error& error) {
      throw UsageError(std::string("the system refused to start a copier thread (") + error.what() +
                       "); use fewer --copiers");
    }
  }
  bool asynchronous() const override { return true; }
  CopyQueue& queue(unsigned index) override { return *queues_[index]; }
  void stop() override {
    if (threads_.empty()) return;
    for (auto& thread : threads_) thread.request_stop();
    const auto copiers = static_cast<double>(threads_.size());
    threads_.clear();
    double busy = 0;
    for (const std::uint64_t cycles : busy_cycles_) busy += static_cast<double>(cycles);
    utilisation_ = busy / (static_cast<double>(read_cycles() - start_) * copiers);
  }
  double utilisation() const override { return utilisation_; }

 private:
  static constexpr unsigned kSpins = 2000, kYields = 200;
  static constexpr auto kNap = std::chrono::microseconds(50);

  void serve(unsigned index, unsigned copiers, const std::stop_token& stop) {
    unsigned idle = 0;
    std::uint64_t busy = 0;
    while (!stop.stop_requested()) {
      std::uint64_t bursts = 0;
      const std::uint64_t start = read_cycles();
      for (std::size_t i = index; i < queues_.size(); i += copiers) bursts += queues_[i]->work();
      if (bursts > 0) {
        busy += read_cycles() - start;
        idle = 0;
      } else if (++idle < kSpins) {
        pause_briefly();
      } else if (idle < kSpins + kYields) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(kNap);
      }
    }
    busy_cycles_[index] = busy;
  }

  std::vector<std::unique_ptr<CopyQueue>> queues_;
  std::vector<std::uint64_t> busy_cycles_;  // each written by its thread before it ends
  std::uint64_t start_ = 0;
  double utilisation_ = 0;
  std::vector<std::jthread> threads_;  // last, so that they end before the other members
};

constexpr CopierBackend kBackends[] = {
    {"thread", "helper threads",
     [](unsigned workers, unsigned copiers) -> std::unique_ptr<Copier> {
       return std::make_unique<ThreadCopier>(workers, copiers);
     }},
    {"synchronous", "the worker itself, at once: for comparison",
     [](unsigned, unsigned) -> std::unique_ptr<Copier> {
       return std::make_unique<SynchronousCopier>();
     }},
};

}  // namespace

const CopierBackend& find_copier_backend(std::string_view name) {
  for (const CopierBackend& backend : kBackends)
    if (backend.name == name) return backend;
  if (name == "dsa" || name == "gpu") {
    throw UsageError("copier '" + std::string(name) +
                     "': this build drives no hardware copy engine; copiers: " + copier_names());
  }
  throw UsageError("there is no copier '" + std::string(name) + "'; copiers: " + copier_names());
}

std::string copier_names() {
  std::string names;
  for (const CopierBackend& backend : kBackends)
    names += (names.empty() ? "" : ", ") + std::string(backend.name);
  return names;
}

}  // namespace orrery::checkpoint
