// SPDX-License-Identifier: Apache-2.0
//
// A byte that differs between two worlds, where the two worlds alone cannot tell whether the
// differing bits are uninitialised. Uninitialised bits may be carried along: copied, masked, or
// moved together with their neighbours, as in a word of which a std::vector<bool> uses only some
// bits. But a result that a handler computes from them, or a difference from elsewhere, is an
// error.
//
// So the event is executed in more worlds, with other patterns (world.h) in all memory that is
// uninitialised before the event or during it. A bit that was only carried along holds the new
// pattern each time, or its complement if it was flipped in place; any other difference does not
// follow the patterns. (Memcheck, too, judges by its effects whether uninitialised memory matters,
// bit by bit, within one execution: Seward, Nethercote: Using Valgrind to detect undefined value
// errors with bit-precision, USENIX 2005.)
#pragma once

#include <cstddef>

#include "engine/checker/world.h"

namespace orrery::checker {

struct Doubt {
  static constexpr std::size_t kMemory = ~std::size_t{0};

  std::size_t send;  ///< index of the send whose payload has the byte; kMemory: the LP's memory
  std::size_t at;    ///< offset in the payload, or in the image of the memory
  std::byte in0, in1;
  const std::byte* address = nullptr;  ///< in the LP's memory

  std::byte bits() const { return in0 ^ in1; }
  /// Whether this doubt has no bits that differ from those of `earlier`, a settled doubt at the
  /// same address.
  bool is_rest_of(const Doubt& earlier) const {
    return (bits() & ~earlier.bits()) == std::byte{} &&
           ((in0 ^ earlier.in0) & bits()) == std::byte{};
  }
};

}  // namespace orrery::checker
