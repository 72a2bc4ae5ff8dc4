// SPDX-License-Identifier: Apache-2.0
//
// Raw memory for entries, aligned to cache lines. std::vector neither aligns its storage so, nor
// leaves new elements uninitialised, nor lets element 0 lie at a given offset in a cache line.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include "memory/application_mode.h"
#include "pending/pending_set.h"

namespace orrery::pending {

inline constexpr std::size_t kCacheLineBytes = 64;

/// An array of entries whose element 0 lies `Offset` entries behind the start of a cache line.
template <class Event, std::size_t Offset = 0>
class EntryArray {
  using EntryT = Entry<Event>;
  static_assert(sizeof(EntryT) == 16);

 public:
  EntryArray() = default;
  EntryArray(const EntryArray&) = delete;
  EntryArray& operator=(const EntryArray&) = delete;
  ~EntryArray() { release(); }

  EntryT* data() { return data_; }
  const EntryT* data() const { return data_; }
  EntryT& operator[](std::size_t i) { return data_[i]; }
  const EntryT& operator[](std::size_t i) const { return data_[i]; }
  std::size_t capacity() const { return capacity_; }
  std::size_t bytes() const { return data_ == nullptr ? 0 : bytes_of(capacity_); }

  /// Makes room for `wanted` entries and keeps the first `used` of them.
  [[gnu::noinline]] void grow(std::size_t wanted, std::size_t used) {
    const memory::PlatformMode platform;
    auto* memory =
        static_cast<EntryT*>(::operator new (bytes_of(wanted), std::align_val_t{kCacheLineBytes}));
    EntryT* data = memory + Offset;
    if (used > 0) std::memcpy(static_cast<void*>(data), data_, used * sizeof(EntryT));
    release();
    data_ = data;
    capacity_ = wanted;
  }

 private:
  static std::size_t bytes_of(std::size_t entries) { return (entries + Offset) * sizeof(EntryT); }

  void release() {
    if (data_ == nullptr) return;
    ::operator delete (data_ - Offset, bytes_of(capacity_), std::align_val_t{kCacheLineBytes});
  }

  EntryT* data_ = nullptr;
  std::size_t capacity_ = 0;
};

}  // namespace orrery::pending
