// SPDX-License-Identifier: Apache-2.0
//
// The pieces that a pool of the platform has taken from an arena. The destructor returns them, so
// that an arena that outlives its pools serves later pools from the same memory. Nothing may refer
// to their contents any more by then: an LP may get them next.
#ifndef ORRERY_MEMORY_BORROWED_PIECES_H
#define ORRERY_MEMORY_BORROWED_PIECES_H

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include "memory/arena.h"
#include "memory/poison.h"

namespace orrery::memory {

class BorrowedPieces {
 public:
  // Without an arena: all requests return an empty piece.
  BorrowedPieces() = default;
  // `arena` must outlive this object.
  BorrowedPieces(Arena& arena, Access access) noexcept : arena_(&arena), access_(access) {}
  BorrowedPieces(BorrowedPieces&& other) noexcept { swap(other); }
  BorrowedPieces& operator=(BorrowedPieces&& other) noexcept {
    BorrowedPieces(std::move(other)).swap(*this);
    return *this;
  }
  ~BorrowedPieces() {
    for (const Piece& piece : pieces_) {
      unpoison(piece.base, piece.bytes);
      arena_->give_back(access_, piece);
    }
  }

  // As Arena::take_piece and take_spare_piece.
  Piece take(std::size_t least_bytes) noexcept {
    return keep([&] { return arena_->take_piece(access_, least_bytes); });
  }
  Piece take_spare(std::size_t least_bytes) noexcept {
    return keep([&] { return arena_->take_spare_piece(access_, least_bytes); });
  }

 private:
  template <typename Take>
  Piece keep(Take take) noexcept {
    if (arena_ == nullptr) {
      return {};
    }
    try {
      pieces_.emplace_back();  // first, so that a failure cannot lose a piece
    } catch (const std::bad_alloc&) {
      return {};
    }
    const Piece piece = take();
    piece.base == nullptr ? pieces_.pop_back() : void(pieces_.back() = piece);
    return piece;
  }
  void swap(BorrowedPieces& other) noexcept {
    std::swap(arena_, other.arena_);
    std::swap(access_, other.access_);
    pieces_.swap(other.pieces_);
  }

  Arena* arena_ = nullptr;
  Access access_ = Access::intensive;
  std::vector<Piece> pieces_;
};

}  // namespace orrery::memory

#endif  // ORRERY_MEMORY_BORROWED_PIECES_H
