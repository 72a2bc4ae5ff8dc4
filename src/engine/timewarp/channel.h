// SPDX-License-Identifier: Apache-2.0
//
// From one worker to another: a ring of pointers with one producer and one consumer (Lamport 1983),
// one for each ordered pair of workers. Entries are published in batches, so a cache line of eight
// pointers crosses between cores once; head and tail lie on lines of their own and each side keeps
// a copy of the other's. A full ring never blocks the producer: what does not fit waits in a queue
// of its own, in order (two workers that wait for each other would be a deadlock).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "engine/timewarp/event.h"

namespace orrery::timewarp {

/// An event on its way to its receiver's worker, or notice that one there was cancelled.
class Message {
 public:
  Message() = default;
  static Message event(TwEvent* event) { return Message(reinterpret_cast<std::uintptr_t>(event)); }
  static Message cancellation(TwEvent* event) {
    return Message(reinterpret_cast<std::uintptr_t>(event) | 1);
  }
  TwEvent* event() const { return reinterpret_cast<TwEvent*>(word_ & ~std::uintptr_t{1}); }
  bool is_cancellation() const { return (word_ & 1) != 0; }

 private:
  explicit Message(std::uintptr_t word) : word_(word) {}
  std::uintptr_t word_ = 0;
};

class Channel {
 public:
  /// `capacity` is a power of two.
  explicit Channel(std::size_t capacity)
      : mask_(capacity - 1), ring_(std::make_unique<Message[]>(capacity)) {}

  // Producer's side.
  void push(Message message) {
    if (!waiting_.empty() || written_ - known_head_ > mask_) [[unlikely]] {
      push_slowly(message);
      return;
    }
    ring_[written_++ & mask_] = message;
  }
  /// Publishes what was pushed. Release: the consumer must see entries and events behind the tail.
  void flush() {
    if (!waiting_.empty()) [[unlikely]]
      move_waiting();
    if (written_ != published_) {
      published_ = written_;
      tail_.store(published_, std::memory_order_release);
    }
  }
  /// Messages that found no room yet: they hold back GVT.
  template <class Visit>
  void for_each_waiting(Visit&& visit) const {
    for (const Message message : waiting_) visit(message);
  }

  // Consumer's side. Calls `receive(Message)` for all that is published; returns how many.
  template <class Receive>
  std::size_t drain(Receive&& receive) {
    // Acquire pairs with flush. The head is published with release after the entries were read, so
    // that the producer, which acquires it, does not overwrite an entry that is still to be read.
    const std::uint64_t tail = tail_.load(std::memory_order_acquire);
    const std::uint64_t first = read_;
    if (first == tail) return 0;
    // Every event is a line in the sender's cache: ask for several before the first is needed.
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

  void prefetch(std::uint64_t at) const { __builtin_prefetch(ring_[at & mask_].event(), 1); }
  void push_slowly(Message message) {
    known_head_ = head_.load(std::memory_order_acquire);
    if (waiting_.empty() && written_ - known_head_ <= mask_) {
      ring_[written_++ & mask_] = message;
    } else {
      waiting_.push_back(message);
    }
  }
  void move_waiting() {
    known_head_ = head_.load(std::memory_order_acquire);
    std::size_t moved = 0;
    while (moved < waiting_.size() && written_ - known_head_ <= mask_)
      ring_[written_++ & mask_] = waiting_[moved++];
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(moved));
  }

  const std::uint64_t mask_;
  std::unique_ptr<Message[]> ring_;
  alignas(64) std::uint64_t written_ = 0;  // producer's
  std::uint64_t published_ = 0;
  std::uint64_t known_head_ = 0;
  std::deque<Message> waiting_;
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  alignas(64) std::uint64_t read_ = 0;  // consumer's
  alignas(64) std::atomic<std::uint64_t> head_{0};
};

}  // namespace orrery::timewarp
