// SPDX-License-Identifier: Apache-2.0
//
// A byte in which two worlds differ and of which they alone cannot tell whether somebody has
// initialised the bits that do. Uninitialised bits may be carried along: copied, masked, shifted
// into place by their neighbours. Words of which a std::vector<bool> uses some bits are like that.
// What a handler computes from them, and what comes from elsewhere, is a mistake.
//
// So the event is executed in more worlds, with other patterns (world.h) wherever nobody has
// initialised anything, before it and in it. A bit that was only carried along holds the new
// pattern each time, or its complement if it was flipped where it lies; any other difference does
// not follow them. (Telling by what comes of it whether uninitialised memory matters is what
// Memcheck does bit by bit, within one execution: Seward, Nethercote: Using Valgrind to detect
// undefined value errors with bit-precision, USENIX 2005.)
#pragma once

#include <cstddef>

#include "engine/checker/world.h"

namespace orrery::checker {

struct Doubt {
  static constexpr std::size_t kMemory = ~std::size_t{0};

  std::size_t send;  ///< in whose payload it lies; kMemory: in the LP's memory
  std::size_t at;    ///< offset in the payload, or in the image of the memory
  std::byte in0, in1;
  const std::byte* address = nullptr;  ///< in the LP's memory

  std::byte bits() const { return in0 ^ in1; }
  /// Whether `earlier`, at the same address, has been settled and this is what is left of it.
  bool is_rest_of(const Doubt& earlier) const {
    return (bits() & ~earlier.bits()) == std::byte{} &&
           ((in0 ^ earlier.in0) & bits()) == std::byte{};
  }
};

}  // namespace orrery::checker
