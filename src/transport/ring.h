// SPDX-License-Identifier: Apache-2.0
//
// A ring from one worker to another, with one producer and one consumer (Lamport: Specifying
// concurrent program modules, ACM TOPLAS 5(2), 1983). Entries are published in batches, so a cache
// line of eight pointers crosses between cores once. Head and tail lie on their own cache lines,
// and the producer keeps a copy of the head. A full ring never blocks the producer: entries that do
// not fit wait in a queue, in order (two workers that wait for each other would be a deadlock).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "transport/atomics.h"

namespace orrery::transport {

/// `Entry` is default-constructible and copied. It may have `prefetch() const`, which prefetches
/// the data that it points to.
template <class Entry, class Atomics = StandardAtomics>
class Ring {
 public:
  /// `capacity` is a power of two.
  explicit Ring(std::size_t capacity)
      : mask_(capacity - 1), ring_(std::make_unique<Entry[]>(capacity)) {}

  // Producer's side.
  void push(Entry entry) {
    if (!waiting_.empty() || written_ - known_head_ > mask_) [[unlikely]] {
      push_slowly(entry);
      return;
    }
    ring_[written_++ & mask_] = entry;
  }
  /// Publishes the entries pushed so far. Release: the consumer must see the entries behind the
  /// tail and the data that they point to.
  void flush() {
    if (!waiting_.empty()) [[unlikely]]
      move_waiting();
    if (written_ != published_) {
      published_ = written_;
      tail_.store(published_, std::memory_order_release);
    }
  }
  /// Visits entries that found no room yet: they hold back GVT.
  template <class Visit>
  void for_each_waiting(Visit&& visit) const {
    for (const Entry& entry : waiting_) visit(entry);
  }

  /// Whether the consumer has taken all entries that were pushed. Acquire: see drain.
  bool all_received() const {
    return waiting_.empty() && head_.load(std::memory_order_acquire) == written_;
  }

  // Consumer's side. Calls `receive(Entry)` for all published entries; returns their number.
  template <class Receive>
  std::size_t drain(Receive&& receive) {
    // Acquire pairs with flush. The head is published with release after the entries were read. The
    // producer acquires it, so it does not overwrite an entry that is still to be read.
    const std::uint64_t tail = tail_.load(std::memory_order_acquire);
    const std::uint64_t first = read_;
    if (first == tail) return 0;
    // An entry points to a line in the producer's cache: prefetch several before the first is
    // needed.
    for (std::uint64_t i = first; i != tail && i < first + kAhead; ++i) prefetch(i);
    for (; read_ != tail; ++read_) {
      if (read_ + kAhead < tail) prefetch(read_ + kAhead);
      receive(ring_[read_ & mask_]);
    }
    head_.store(read_, std::memory_order_release);
    return read_ - first;
  }

 private:
  static constexpr std::uint64_t kAhead = 8;

  void prefetch([[maybe_unused]] std::uint64_t at) const {
    if constexpr (requires(const Entry& entry) { entry.prefetch(); }) ring_[at & mask_].prefetch();
  }
  void push_slowly(Entry entry) {
    known_head_ = head_.load(std::memory_order_acquire);
    if (waiting_.empty() && written_ - known_head_ <= mask_) {
      ring_[written_++ & mask_] = entry;
    } else {
      waiting_.push_back(entry);
    }
  }
  void move_waiting() {
    known_head_ = head_.load(std::memory_order_acquire);
    std::size_t moved = 0;
    while (moved < waiting_.size() && written_ - known_head_ <= mask_)
      ring_[written_++ & mask_] = waiting_[moved++];
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(moved));
  }

  using Position = typename Atomics::template atomic<std::uint64_t>;

  const std::uint64_t mask_;
  std::unique_ptr<Entry[]> ring_;
  alignas(64) std::uint64_t written_ = 0;  // producer's
  std::uint64_t published_ = 0;
  std::uint64_t known_head_ = 0;
  std::deque<Entry> waiting_;
  alignas(64) Position tail_{0};
  alignas(64) std::uint64_t read_ = 0;  // consumer's
  alignas(64) Position head_{0};
};

}  // namespace orrery::transport
