// SPDX-License-Identifier: Apache-2.0
//
// Streams of bytes between processes of one machine, in shared memory: for each ordered pair of
// ranks a ring with one producer and one consumer (Lamport: Specifying concurrent program modules,
// ACM TOPLAS 5(2), 1983). With a pair of sockets instead, each look at an empty stream is a system
// call, and each byte is copied twice more: together that was a fifth of PHOLD's time on two ranks.
// Here a look is a load from an unchanged cache line.
//
// A consumer that finds nothing and wants to sleep sets `sleeps`, and then looks once more. A
// producer checks `sleeps` after it has written. These four accesses are sequentially consistent,
// so one of the two sees the other (Dekker's argument). The caller chooses how to wake a sleeper.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace orrery::transport {

/// The shared state of a ring; zeros are an empty ring. Each variable has its own cache line.
struct RingState {
  /// Bytes since the beginning. Stored with release (and more, see above) after the bytes, loaded
  /// with acquire before them. `read` does the same for the room that reading makes.
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

  /// Writes as many bytes as there is room for; returns their number. Does not publish them.
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
  /// Call after publish(): whether the consumer sleeps and this caller must wake it.
  bool finds_sleeper() {
    return state_.sleeps.load(std::memory_order_seq_cst) != 0 &&
           state_.sleeps.exchange(0, std::memory_order_relaxed) != 0;
  }

 private:
  std::size_t room() const { return mask_ + 1 - static_cast<std::size_t>(written_ - read_); }

  RingState& state_;
  std::byte* const bytes_;
  const std::size_t mask_;
  std::uint64_t written_ = 0, read_ = 0;  ///< read_: as last seen
};

/// The consumer's side. By one thread at a time.
class RingReader {
 public:
  RingReader(RingState& state, const std::byte* bytes, std::size_t capacity)
      : state_(state), bytes_(bytes), mask_(capacity - 1) {}

  /// Calls take(bytes, count) for the bytes that have come, in one or two pieces. False if none
  /// have.
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
  /// True if nothing has come; a producer that writes from now on finds a sleeper.
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
  /// A descriptor of memory for `ranks` ranks; -1 with errno if the system refuses.
  static int create(unsigned ranks);
  /// What a rank has, as a text of at most kAboutBytes: the ranks leave it in that memory for the
  /// process that has started them, which names a rank that dies.
  static constexpr std::size_t kAboutBytes = 512;
  static void write_about(int memory, unsigned ranks, unsigned rank, std::string_view text);
  static std::string read_about(int memory, unsigned ranks, unsigned rank);
  /// `memory`: the result of create(), for as many ranks; not closed here. Throws RankFailure.
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
