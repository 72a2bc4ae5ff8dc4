// SPDX-License-Identifier: Apache-2.0
//
// The unused pieces of one colour in an arena: fresh pieces, and pieces that pools gave back.
//
// Pieces are kept by size, in pages, and a request gets the smallest that suffices. So small
// requests do not use up the large pieces, and a piece that fits is found in whatever order pools
// take and return pieces. An arena opens a new way only if no piece fits.
//
// Mild pieces below the threshold (colour.h) are kept apart and served by take_low only. A move of
// the threshold visits all pieces once.
#ifndef ORRERY_MEMORY_SPARE_PIECES_H
#define ORRERY_MEMORY_SPARE_PIECES_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "memory/poison.h"
#include "memory/size_class.h"

namespace orrery::memory {

// Memory of one colour: size and address are multiples of a page, the size is at most a block.
struct Piece {
  std::byte* base = nullptr;  // nullptr: no piece
  std::size_t bytes = 0;
  Access meant_for = Access::intensive;  // by its place in the way; it may serve the other kind
};

class SparePieces {
 public:
  SparePieces(Access access, std::size_t way_bytes, std::size_t floor) noexcept
      : access_(access), way_mask_(way_bytes - 1), floor_(floor) {}

  // Moves the floor: pieces whose offset in the way is lower are served by take_low only.
  void set_floor(std::size_t offset) noexcept {
    if (offset == floor_) {
      return;
    }
    floor_ = offset;
    for (Shelf& shelf : shelves_) {
      const auto rest = std::partition(shelf.pieces.begin(), shelf.pieces.end(),
                                       [this](const std::byte* base) { return is_low(base); });
      shelf.low = static_cast<std::size_t>(rest - shelf.pieces.begin());
    }
  }

  // Call before add: makes room for the pieces of `bytes` bytes for good, so that putting them back
  // needs no memory. False if there is no memory.
  bool make_room(std::size_t bytes) noexcept {
    return make_room(shelf_of(kBlockBytes), bytes / kBlockBytes) &&
           (bytes % kBlockBytes == 0 || make_room(shelf_of(bytes % kBlockBytes), 1));
  }
  // Adds fresh memory, cut into pieces of a block and a rest.
  void add(std::byte* base, std::size_t bytes) noexcept {
    for (std::size_t at = 0; at < bytes; at += kBlockBytes) {
      const std::size_t piece = std::min(bytes - at, kBlockBytes);
      ++shelf_of(piece).made;
      put({base + at, piece, access_});
    }
  }
  // Puts a taken piece back.
  void put(const Piece& piece) noexcept {
    poison(piece.base, piece.bytes);
    Shelf& shelf = shelf_of(piece.bytes);
    shelf.pieces.push_back(piece.base);
    if (is_low(piece.base)) {
      std::swap(shelf.pieces[shelf.low++], shelf.pieces.back());
    }
    bytes_ += piece.bytes;
  }

  // Takes a piece at or above the floor, of at least `least_bytes`; empty if there is none.
  Piece take(std::size_t least_bytes) noexcept { return find(least_bytes, Part::rest); }
  // The same below the floor.
  Piece take_low(std::size_t least_bytes) noexcept { return find(least_bytes, Part::low); }

  std::size_t bytes() const noexcept { return bytes_; }

 private:
  enum class Part : std::uint8_t { low, rest };
  // Pieces of one size.
  struct Shelf {
    std::vector<std::byte*> pieces;  // pieces below the floor come first
    std::size_t low = 0;             // number of pieces below the floor
    std::size_t made = 0;            // number of pieces of this size, taken or not
  };

  bool is_low(const std::byte* base) const noexcept {
    return (reinterpret_cast<std::uintptr_t>(base) & way_mask_) < floor_;
  }
  Shelf& shelf_of(std::size_t bytes) noexcept { return shelves_[bytes / kPageBytes - 1]; }

  static bool make_room(Shelf& shelf, std::size_t more) noexcept {
    try {
      if (shelf.pieces.capacity() < shelf.made + more) {
        shelf.pieces.reserve(2 * shelf.made + more);
      }
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  Piece find(std::size_t least_bytes, Part part) noexcept {
    const std::size_t least_pages = (least_bytes + kPageBytes - 1) / kPageBytes;
    for (std::size_t pages = std::max<std::size_t>(least_pages, 1); pages <= shelves_.size();
         ++pages) {
      Shelf& shelf = shelves_[pages - 1];
      if ((part == Part::low ? shelf.low : shelf.pieces.size() - shelf.low) > 0) {
        return remove(shelf, pages * kPageBytes, part);
      }
    }
    return {};
  }
  Piece remove(Shelf& shelf, std::size_t bytes, Part part) noexcept {
    if (part == Part::low) {
      std::swap(shelf.pieces[--shelf.low], shelf.pieces.back());
    }
    std::byte* const base = shelf.pieces.back();
    shelf.pieces.pop_back();
    bytes_ -= bytes;
    unpoison(base, bytes);
    return {base, bytes, access_};
  }

  const Access access_;
  const std::uintptr_t way_mask_;
  std::size_t floor_;
  std::size_t bytes_ = 0;
  std::array<Shelf, kBlockBytes / kPageBytes> shelves_;
};

}  // namespace orrery::memory

#endif  // ORRERY_MEMORY_SPARE_PIECES_H
