// SPDX-License-Identifier: Apache-2.0
//
// The layout of the cells: hexagons in rows, odd rows shifted half a cell to the right, so that
// every cell has up to six neighbours. Cells do not wrap round at the borders. Any number of cells
// is possible: the rectangle is as square as possible, and the last row is filled from the left.
// Everything follows from a cell's number, so there is no table to store, share or roll back.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "orrery/event.h"

namespace pcs {

using orrery::LpId;

/// The cells next to one cell: 0 to 6 of them, in a fixed order.
class Neighbours {
 public:
  void add(LpId cell) { cells_[count_++] = cell; }
  std::uint32_t size() const { return count_; }
  LpId operator[](std::uint64_t i) const { return cells_[i]; }
  const LpId* begin() const { return cells_.data(); }
  const LpId* end() const { return cells_.data() + count_; }

 private:
  std::array<LpId, 6> cells_;
  std::uint32_t count_ = 0;
};

class HexGrid {
 public:
  explicit HexGrid(std::uint32_t cells = 1) : cells_(cells), columns_(1) {
    while (std::uint64_t{columns_} * columns_ < cells) ++columns_;
  }

  std::uint32_t cells() const { return cells_; }
  std::uint32_t columns() const { return columns_; }

  /// Coordinates of a cell's centre; the unit is the distance between the centres of neighbours.
  double x(LpId cell) const { return cell % columns_ + (odd_row(cell) ? 0.5 : 0.0); }
  double y(LpId cell) const { return cell / columns_ * std::sqrt(0.75); }

  Neighbours neighbours(LpId cell) const {
    // The rows above and below have two neighbours each, half a cell to either side: the columns c
    // - 1 and c for an even row, c and c + 1 for an odd row.
    const std::int64_t row = cell / columns_, column = cell % columns_;
    const std::int64_t left = odd_row(cell) ? column : column - 1;
    Neighbours found;
    add(found, row - 1, left);
    add(found, row - 1, left + 1);
    add(found, row, column - 1);
    add(found, row, column + 1);
    add(found, row + 1, left);
    add(found, row + 1, left + 1);
    return found;
  }

 private:
  bool odd_row(LpId cell) const { return (cell / columns_) % 2 == 1; }
  void add(Neighbours& found, std::int64_t row, std::int64_t column) const {
    if (row < 0 || column < 0 || column >= columns_) return;
    const std::int64_t cell = row * columns_ + column;
    if (cell < cells_) found.add(static_cast<LpId>(cell));
  }

  std::uint32_t cells_, columns_;
};

}  // namespace pcs
