// SPDX-License-Identifier: Apache-2.0
//
// Pending events between engines: a world carries them from one engine to the next. Events lie
// packed one behind another, header and payload, in chunks of memory; they are unordered and cannot
// be removed singly. So an event costs only its bytes, without pointer or allocation, and a reader
// reads memory sequentially.
//
// A chunk is freed as soon as its events are taken: while events move to the pending event set of
// the next engine, a world of a million LPs holds hardly more than one copy of each. Chunks are at
// most an eighth of the list, so that little of the last chunk is unused, and at most
// kMostChunkBytes, except for larger events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "core/event_header.h"
#include "core/payload.h"

namespace orrery {

class EventList {
 public:
  EventList() = default;
  EventList(EventList&& other) noexcept { swap(other); }
  EventList& operator=(EventList&& other) noexcept {
    EventList(std::move(other)).swap(*this);
    return *this;
  }
  EventList(const EventList&) = delete;
  EventList& operator=(const EventList&) = delete;
  ~EventList() {
    while (first_ != nullptr) drop_first();
  }

  /// Copies an event. `payload`: its `event.size.bytes()` bytes, of any alignment, nullptr if there
  /// are none; or parts of it. Throws std::bad_alloc; then the list is unchanged.
  template <class Payload>
  void append(const EventHeader& event, const Payload& payload) {
    const std::size_t bytes = stored_bytes(event);
    Chunk* chunk = last_;
    if (chunk == nullptr || chunk->bytes - chunk->end < bytes) [[unlikely]]
      chunk = add_chunk(bytes);
    std::byte* const place = chunk->at(chunk->end);
    new (place) EventHeader(event);
    std::byte* const stored = place + sizeof(EventHeader);
    if (event.size.bytes() > 0) write_payload(stored, payload, event.size);
    chunk->end += bytes;
    ++chunk->events;
    ++size_;
    if (event.size.has_trailer()) [[unlikely]]
      has_durations_ |= duration_of(event, stored) > Duration::zero();
  }

  /// Number of events.
  std::uint64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// Whether an event with a duration was appended since the list was empty.
  bool has_durations() const { return has_durations_ && !empty(); }
  /// Allocated memory in bytes.
  std::size_t bytes() const { return bytes_; }

  /// All events as they lie in memory: visit(const std::byte* begin, const std::byte* end) for each
  /// piece, of whole events (header, then payload up to a multiple of 8).
  template <class Visit>
  void for_each_piece(Visit&& visit) const {
    for (Chunk* chunk = first_; chunk != nullptr; chunk = chunk->next)
      visit(chunk->at(chunk->begin), chunk->at(chunk->end));
  }
  /// The event of such a piece at `place`, and its size, which leads to the next event.
  static const EventHeader& event_at(const std::byte* place) {
    return *std::launder(reinterpret_cast<const EventHeader*>(place));
  }
  static std::size_t stored_bytes(const EventHeader& event) {
    return sizeof(EventHeader) + (std::size_t{event.size.bytes()} + 7) / 8 * 8;
  }

  /// Calls `take(const EventHeader&, const std::byte* payload)` for every event, and empties the
  /// list. The payload lies at a multiple of 8. Both are freed with their chunk, so `take` must
  /// copy what it needs. If `take` throws, the list holds the event that it threw for and all later
  /// ones. Events appended to one chunk come in the order of appending.
  template <class Take>
  void take_all(Take&& take) {
    has_durations_ = false;
    for (; first_ != nullptr; drop_first()) {
      Chunk& chunk = *first_;
      while (chunk.begin != chunk.end) {
        const std::byte* const place = chunk.at(chunk.begin);
        const auto& event = *std::launder(reinterpret_cast<const EventHeader*>(place));
        take(event, place + sizeof(EventHeader));
        chunk.begin += stored_bytes(event);
        --chunk.events;
        --size_;
      }
    }
  }

 private:
  static constexpr std::size_t kPageBytes = 4096;
  static constexpr std::size_t kMostChunkBytes = std::size_t{2} << 20;
  static constexpr std::size_t kSharesOfList = 8;
  static constexpr std::size_t kLargeEventBytes = kMostChunkBytes / 8;

  /// The header of a chunk, at its first byte. `begin` and `end` are offsets from there.
  struct Chunk {
    Chunk* next;
    std::size_t bytes;
    std::size_t begin;  ///< the first event not taken
    std::size_t end;    ///< behind the last event
    std::uint64_t events;

    std::byte* at(std::size_t offset) { return reinterpret_cast<std::byte*>(this) + offset; }
  };
  static_assert(sizeof(Chunk) % 8 == 0 && sizeof(EventHeader) % 8 == 0,
                "payloads are at multiples of 8");

  void swap(EventList& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(last_, other.last_);
    std::swap(size_, other.size_);
    std::swap(bytes_, other.bytes_);
    std::swap(has_durations_, other.has_durations_);
  }
  /// Adds a chunk with room for an event of that many bytes.
  Chunk* add_chunk(std::size_t event_bytes);
  void drop_first() noexcept;
  void append_chunk(Chunk* chunk) noexcept;

  Chunk* first_ = nullptr;
  Chunk* last_ = nullptr;
  std::uint64_t size_ = 0;
  std::size_t bytes_ = 0;
  bool has_durations_ = false;
};

}  // namespace orrery
