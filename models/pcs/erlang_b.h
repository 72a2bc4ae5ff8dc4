// SPDX-License-Identifier: Apache-2.0
//
// Erlang's loss formula: the share of calls that find all channels busy in a group without queue
// (M/M/c/c, and by insensitivity M/G/c/c), "Solution of some problems in the theory of
// probabilities of significance in automatic telephone exchanges", 1917. The closed form a^c/c! /
// sum a^k/k! overflows for a few hundred channels; the recursion over the number of channels,
//
//   B(0, a) = 1,   B(c, a) = a B(c-1, a) / (c + a B(c-1, a)),
//
// stays between 0 and 1 and loses no digits, since every term is positive.
#pragma once

#include <cstdint>

#include "orrery/math.h"

namespace pcs {

/// `load_erlang`: arrival rate times mean holding time, that is the mean number of busy channels if
/// there were infinitely many.
inline double erlang_b(std::uint32_t channels, double load_erlang) {
  double blocking = 1.0;
  for (std::uint32_t c = 1; c <= channels; ++c) {
    const double weight = orrery::math::product(load_erlang, blocking);
    blocking = weight / (c + weight);
  }
  return blocking;
}

}  // namespace pcs
