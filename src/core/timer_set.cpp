// SPDX-License-Identifier: Apache-2.0
#include "core/timer_set.h"

#include <cstring>
#include <new>

#include "orrery/error.h"

namespace orrery {

/// The new places are zero, so that an undone event leaves them as they were.
void TimerSet::grow() {
  constexpr std::uint32_t kMostPieces = 24;  // 100 million timers of one LP
  if (pieces_ == kMostPieces) throw ModelFault("it has more than 100 million live timers");
  const std::size_t bytes = sizeof(Piece) + places_of(pieces_) * sizeof(std::uint64_t);
  auto* const piece = static_cast<Piece*>(::operator new(bytes));
  std::memset(static_cast<void*>(piece), 0, bytes);
  Piece** last = &first_;
  for (std::uint32_t i = 0; i < pieces_; ++i) last = &(*last)->next;
  *last = piece;
  ++pieces_;
}

void TimerSet::shrink(std::uint32_t pieces) {
  Piece** last = &first_;
  for (std::uint32_t i = 0; i < pieces && *last != nullptr; ++i) last = &(*last)->next;
  for (Piece* piece = *last; piece != nullptr;) {
    Piece* const next = piece->next;
    ::operator delete(piece);
    piece = next;
  }
  *last = nullptr;
  if (pieces_ > pieces) pieces_ = pieces;
}

}  // namespace orrery
