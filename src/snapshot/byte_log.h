// SPDX-License-Identifier: Apache-2.0
//
// Bytes that are appended and then written to a file. The memory consists of pieces that never
// move, so nothing is copied twice. The pieces are kept for the next snapshot, since fresh pages
// cost more than the copy; for the first snapshot reserve() can prepare them. A record lies in one
// piece, at a multiple of 16.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "core/huge_pages.h"

namespace orrery::snapshot {

class ByteLog {
 public:
  ByteLog() = default;
  ByteLog(ByteLog&& other) noexcept { swap(other); }
  ByteLog& operator=(ByteLog&& other) noexcept {
    ByteLog(std::move(other)).swap(*this);
    return *this;
  }
  ~ByteLog() {
    for (const Piece& piece : pieces_) huge_pages::unmap(piece.memory, piece.bytes);
  }

  /// Empties the log and keeps the memory.
  void clear() {
    for (Piece& piece : pieces_) piece.used = 0;
    last_ = 0;
    size_ = 0;
  }
  /// Appends room for `bytes` bytes, a multiple of 16, which the caller writes. Throws
  /// std::bad_alloc.
  std::byte* extend(std::size_t bytes) {
    while (last_ < pieces_.size() && pieces_[last_].bytes - pieces_[last_].used < bytes) ++last_;
    if (last_ == pieces_.size()) add_piece(bytes);
    Piece& piece = pieces_[last_];
    std::byte* const place = piece.memory + piece.used;
    piece.used += bytes;
    size_ += bytes;
    return place;
  }
  /// Prepares memory for `bytes` bytes of records, and touches its pages so that they are really
  /// there. Only for an empty log. Throws std::bad_alloc.
  void reserve(std::size_t bytes) {
    std::size_t ready = 0;
    for (const Piece& piece : pieces_) ready += piece.bytes;
    while (ready < bytes) {
      add_piece(std::min(bytes - ready, kPieceBytes));
      const Piece& piece = pieces_.back();
      constexpr std::size_t kSmallPageBytes = 4096;
      for (std::size_t at = 0; at < piece.bytes; at += kSmallPageBytes)
        *static_cast<volatile std::byte*>(piece.memory + at) = std::byte{0};
      ready += piece.bytes;
    }
  }
  template <class T>
  void append(const T& value) {
    static_assert(sizeof(T) % 16 == 0);
    std::memcpy(extend(sizeof value), &value, sizeof value);
  }
  std::size_t size() const { return size_; }

  /// visit(std::span<const std::byte>), in order.
  template <class Visit>
  void for_each_piece(Visit&& visit) const {
    for (const Piece& piece : pieces_)
      if (piece.used > 0) visit(std::span<const std::byte>(piece.memory, piece.used));
  }

 private:
  static constexpr std::size_t kPieceBytes = 4 * huge_pages::kPageBytes;
  struct Piece {
    std::byte* memory;
    std::size_t bytes, used;
  };

  void add_piece(std::size_t least) {
    const std::size_t wanted = std::max(least, kPieceBytes);
    const std::size_t bytes =
        (wanted + huge_pages::kPageBytes - 1) / huge_pages::kPageBytes * huge_pages::kPageBytes;
    pieces_.emplace_back();
    void* const memory = huge_pages::map(bytes);
    if (memory == nullptr) {
      pieces_.pop_back();
      throw std::bad_alloc();
    }
    pieces_.back() = {static_cast<std::byte*>(memory), bytes, 0};
  }
  void swap(ByteLog& other) noexcept {
    pieces_.swap(other.pieces_);
    std::swap(last_, other.last_);
    std::swap(size_, other.size_);
  }

  std::vector<Piece> pieces_;
  std::size_t last_ = 0;  ///< the piece that is being filled
  std::size_t size_ = 0;
};

}  // namespace orrery::snapshot
