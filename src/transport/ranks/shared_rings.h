// SPDX-License-Identifier: Apache-2.0
//
// Streams of bytes between processes of one machine, in memory that they share: for each ordered
// pair of ranks a ring with one producer and one consumer (Lamport: Specifying concurrent program
// modules, ACM TOPLAS 5(2), 1983). Over a pair of sockets each look at an empty stream is a call of
// the system, and each byte is copied twice more: together that was a fifth of PHOLD's time on two
// ranks. Here a look is a load from a cache line that nobody has changed.
//
// Who finds nothing and wants to sleep says so in the ring, and looks once more; who writes looks
// whether somebody sleeps, behind what it has written. These four are sequentially consistent, so
// one of the two sees the other (Dekker's argument). How a sleeper is woken is the caller's.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace orrery::transport {

/// What both sides of a ring know of it; zeros are an empty ring. On cache lines by who writes.
struct RingState {
  /// Bytes since the beginning. Stored as a release (and more, see above) behind the bytes, loaded
  /// as an acquire before them; the same way back for the room that reading makes.
  alignas(64) std::atomic<std::uint64_t> written{0};
  alignas(64) std::atomic<std::uint64_t> read{0};
  /// Set by a consumer that is about to sleep, reset by the producer that wakes it.
  alignas(64) std::atomic<std::uint32_t> sleeps{0};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// The producer's side. By one thread at a time.
class RingWriter {
 public:
  RingWriter(RingState& state, std::byte* bytes, std::size_t capacity)
      : state_(state), bytes_(bytes), mask_(capacity - 1) {}

  /// Takes as many as there is room for, and says how many. Nobody sees them yet.
  std::size_t write(std::span<const std::byte> from) {
    if (room() < from.size()) read_ = state_.read.load(std::memory_order_acquire);
    const std::size_t count = std::min(room(), from.size());
    const std::size_t at = written_ & mask_, first = std::min(count, mask_ + 1 - at);
    std::memcpy(bytes_ + at, from.data(), first);
    std::memcpy(bytes_, from.data() + first, count - first);
    written_ += count;
    return count;
  }
  void publish() { state_.written.store(written_, std::memory_order_seq_cst); }
  /// After publishing: whether the consumer sleeps and is now this caller's to wake.
  bool finds_sleeper() {
    return state_.sleeps.load(std::memory_order_seq_cst) != 0 &&
           state_.sleeps.exchange(0, std::memory_order_relaxed) != 0;
  }

 private:
  std::size_t room() const { return mask_ + 1 - static_cast<std::size_t>(written_ - read_); }

  RingState& state_;
  std::byte* const bytes_;
  const std::size_t mask_;
  std::uint64_t written_ = 0, read_ = 0;  ///< the second as last seen
};

/// The consumer's. By one thread at a time.
class RingReader {
 public:
  RingReader(RingState& state, const std::byte* bytes, std::size_t capacity)
      : state_(state), bytes_(bytes), mask_(capacity - 1) {}

  /// Calls take(bytes, count) for what has come, in one piece or two. Returns whether any has.
  template <class Take>
  bool read(Take&& take) {
    const std::uint64_t written = state_.written.load(std::memory_order_acquire);
    if (written == read_) return false;
    while (read_ != written) {
      const std::size_t at = read_ & mask_;
      const auto count = std::min(static_cast<std::size_t>(written - read_), mask_ + 1 - at);
      take(bytes_ + at, count);
      read_ += count;
    }
    state_.read.store(read_, std::memory_order_release);
    return true;
  }
  /// True: nothing has come, and whoever writes from now on finds a sleeper.
  bool may_sleep() {
    state_.sleeps.store(1, std::memory_order_seq_cst);
    return state_.written.load(std::memory_order_seq_cst) == read_;
  }
  void wake() { state_.sleeps.store(0, std::memory_order_relaxed); }

 private:
  RingState& state_;
  const std::byte* const bytes_;
  const std::size_t mask_;
  std::uint64_t read_ = 0;
};

/// The memory of all rings of a run.
class SharedRings {
 public:
  /// A descriptor of memory for so many ranks; -1 if the system refuses it, which errno says.
  static int create(unsigned ranks);
  /// `memory`: what create() has returned, for as many ranks; not closed here. Throws RankFailure.
  SharedRings(int memory, unsigned ranks);
  SharedRings(const SharedRings&) = delete;
  SharedRings& operator=(const SharedRings&) = delete;
  ~SharedRings();

  RingWriter writer(unsigned from, unsigned to) const;
  RingReader reader(unsigned from, unsigned to) const;

 private:
  RingState& state(unsigned from, unsigned to) const;
  std::byte* bytes(unsigned from, unsigned to) const;

  const unsigned ranks_;
  const std::size_t capacity_;  ///< of a ring
  std::byte* base_ = nullptr;
};

}  // namespace orrery::transport
