// SPDX-License-Identifier: Apache-2.0
//
// New owners for LPs whose load was measured: as even as wanted, with few LPs moved and few
// neighbours separated, by a simple rule. In a model with a communication graph LPs move from
// owners above their share to owners below, those first whose move most reduces the weight of links
// between owners: the border moves, layer by layer (gains as in Fiduccia and Mattheyses: A
// linear-time heuristic for improving network partitions, DAC 1982, without taking moves back).
// METIS is not used again: it would find a new partition unrelated to the old one, and everything
// would move. Without a graph, LPs lie in blocks by their numbers, and the ends of the blocks move.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/model.h"

namespace orrery {

/// Returns owner[lp] = worker. `owners`: the current ones, or World::kElsewhere, which stays.
/// `loads`: of each LP, in any unit, 0 for LPs elsewhere; `shares`: of each worker, with sum 1.
/// Deterministic.
std::vector<std::uint16_t> rebalance(const Model& model, const std::vector<std::uint16_t>& owners,
                                     const std::vector<float>& loads,
                                     const std::vector<double>& shares);

}  // namespace orrery
