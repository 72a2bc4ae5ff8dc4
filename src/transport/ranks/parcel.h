// SPDX-License-Identifier: Apache-2.0
//
// A parcel: bytes that travel from one rank to another as one message. A head of 16 bytes lies in
// front of them in the same memory, so that a wire (wire.h) sends one piece and copies nothing. The
// contents are plain memory: ranks are processes of the same build on machines of the same kind,
// which is checked at the start.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace orrery::transport {

/// The lane of a parcel. Parcels of one lane from one rank arrive in order.
enum class Lane : std::uint8_t {
  control,  ///< of the transport itself: credits, collectives
  bulk,     ///< blocking exchanges while a run is set up or ends
  notices,  ///< small parcels of an engine, without credit
  events,   ///< with credit
  rows,     ///< with credit of their own
};
inline constexpr std::size_t kLanes = 5;

struct ParcelHead {
  std::uint64_t bytes = 0;  ///< behind the head
  Lane lane = Lane::control;
  std::uint8_t kind = 0;  ///< meaning defined by the lane
  std::uint16_t unused = 0;
  std::uint32_t word = 0;  ///< meaning defined by the lane
};
static_assert(sizeof(ParcelHead) == 16);

class Parcel {
 public:
  Parcel() = default;
  explicit Parcel(std::size_t capacity) { reserve(capacity); }
  Parcel(Parcel&& other) noexcept
      : memory_(std::move(other.memory_)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)),
        head_(std::exchange(other.head_, {})) {}
  Parcel& operator=(Parcel&& other) noexcept {
    memory_ = std::move(other.memory_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    head_ = std::exchange(other.head_, {});
    return *this;
  }

  ParcelHead& head() { return head_; }
  const ParcelHead& head() const { return head_; }
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  /// The bytes behind the head, at a multiple of 16.
  const std::byte* data() const { return memory_.get() + sizeof(ParcelHead); }
  std::byte* data() { return memory_.get() + sizeof(ParcelHead); }
  std::span<const std::byte> bytes() const { return {data(), size_}; }

  /// Returns room for `bytes` more bytes, which the caller writes.
  std::byte* extend(std::size_t bytes) {
    if (capacity_ - size_ < bytes) reserve(std::max(size_ + bytes, 2 * capacity_));
    std::byte* const place = data() + size_;
    size_ += bytes;
    return place;
  }
  void append(const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(extend(bytes), from, bytes);
  }
  /// Head and bytes, as they are sent.
  std::span<const std::byte> image() {
    if (memory_ == nullptr) reserve(0);
    head_.bytes = size_;
    std::memcpy(memory_.get(), &head_, sizeof head_);
    return {memory_.get(), sizeof head_ + size_};
  }
  /// Bytes of the image.
  std::size_t image_bytes() const { return sizeof(ParcelHead) + size_; }

 private:
  void reserve(std::size_t capacity) {
    auto memory = std::make_unique_for_overwrite<std::byte[]>(sizeof(ParcelHead) + capacity);
    if (memory_ != nullptr) std::memcpy(memory.get() + sizeof(ParcelHead), data(), size_);
    memory_ = std::move(memory);
    capacity_ = capacity;
  }

  std::unique_ptr<std::byte[]> memory_;
  std::size_t size_ = 0, capacity_ = 0;
  ParcelHead head_;
};

}  // namespace orrery::transport
