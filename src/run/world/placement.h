// SPDX-License-Identifier: Apache-2.0
//
// Placement: LPs on ranks and workers by the model's communication graph.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/model.h"
#include "run/options/options.h"
#include "run/world/world.h"

namespace orrery {

/// Which edges to cut.
enum class CutRule : std::uint8_t {
  fewest,      ///< the least total weight
  long_delays  ///< prefer long minimum delays to short ones, and cut none of zero
};

/// Returns owner[lp] = worker. Multilevel k-way partitioning (Karypis and Kumar 1998, METIS) of
/// `graph`, the model's, checked (model_checks.h); contiguous blocks for a model without a graph.
/// Deterministic. Adds a note if the partitioner is missing or fails.
std::vector<std::uint16_t> place_lps(const Model& model, const CommunicationGraph& graph,
                                     unsigned workers, std::vector<std::string>& notes,
                                     CutRule rule = CutRule::fewest);

/// Layout of a world in ordinary memory, with a part for each worker: assigns LPs to ranks by the
/// whole graph, then the LPs of this rank to its workers by the part of the graph among them; or as
/// --partition says, for the ranks if there are several, else for the workers. LPs that may reach
/// each other without delay (clusters.h) are on one rank if `rule` says so. Writes the file of
/// --write-partition. Throws UsageError for these two options.
World::Layout place_lps(const Model& model, const CommunicationGraph& graph,
                        const RunOptions& options, unsigned workers,
                        std::vector<std::string>& notes, CutRule rule = CutRule::fewest);

}  // namespace orrery
