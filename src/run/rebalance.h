// SPDX-License-Identifier: Apache-2.0
//
// Other owners for LPs whose load was measured: as even as wanted, with as few LPs moved and as few
// neighbours parted as a simple rule manages. LPs of a model with a communication graph go from the
// owners that have too much to those that have too little, those first that send least across when
// they are there: the border moves, layer by layer (gains as in Fiduccia and Mattheyses: A
// linear-time heuristic for improving network partitions, DAC 1982, without taking moves back).
// METIS is not asked again: it would find a new partition that has nothing in common with the old
// one, and everything would move. Where there is no graph, LPs lie in blocks by their numbers, and
// the ends of the blocks move.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/model.h"

namespace orrery {

/// owner[lp] = worker, from `owners`, which have it now, or World::kElsewhere, which stays.
/// `loads`: of each LP, in any unit, 0 of those elsewhere; `shares`: of each worker, which add up
/// to 1. Deterministic.
std::vector<std::uint16_t> rebalance(const Model& model, const std::vector<std::uint16_t>& owners,
                                     const std::vector<float>& loads,
                                     const std::vector<double>& shares);

}  // namespace orrery
