// SPDX-License-Identifier: Apache-2.0
//
// Where LPs and workers go: LPs to workers by the model's communication graph, workers to cores.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/model.h"
#include "run/options.h"

namespace orrery {

/// What is to be cut, where there is a choice.
enum class CutRule : std::uint8_t {
  fewest,      ///< edges, by their weights
  long_delays  ///< the same, long minimum delays rather than short ones, and none of zero
};

/// owner[lp] = worker. Multilevel k-way partitioning (Karypis and Kumar 1998, METIS) of `graph`,
/// the model's, checked (model_checks.h); contiguous blocks for a model without one. Deterministic.
/// Adds a note where the partitioner is not there or fails.
std::vector<std::uint16_t> place_lps(const Model& model, const CommunicationGraph& graph,
                                     unsigned workers, std::vector<std::string>& notes,
                                     CutRule rule = CutRule::fewest);

/// For a run: LPs to ranks by the whole graph, then those of this rank to its workers by what of
/// the graph is among them; or as --partition says, of the ranks if there are several, else of the
/// workers. LPs that may reach each other without delay (clusters.h) are on one rank where `rule`
/// says so. `parts` has World::kElsewhere for LPs of other ranks. Writes --write-partition. Throws
/// UsageError for these two.
struct RankedPlacement {
  std::vector<std::uint16_t> ranks;  ///< empty: there is one
  std::vector<std::uint16_t> parts;
};
RankedPlacement place_lps(const Model& model, const CommunicationGraph& graph,
                          const RunOptions& options, unsigned workers,
                          std::vector<std::string>& notes, CutRule rule = CutRule::fewest);

/// Cores that this process may use.
unsigned usable_cores();

/// Binds the calling thread to the `worker`-th usable core. False if the system refuses.
bool bind_to_core(unsigned worker);

/// Memory that the system could give, bytes.
std::uint64_t available_memory_bytes();

}  // namespace orrery
