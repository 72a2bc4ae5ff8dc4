// SPDX-License-Identifier: Apache-2.0
//
// Exchanges among the ranks of a run during set-up and at its end. They are collective and in
// order, so that all ranks have the same view. Combined results are those of a single process: the
// failure with the lowest phase and LP, the parts of the end in the order of LPs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "run/results/finish.h"
#include "run/threads/team.h"
#include "run/world/world.h"
#include "transport/ranks/rank_transport.h"

namespace orrery {

/// Throws UsageError, on all ranks, unless all assign the LPs to ranks alike.
void check_placement(transport::RankTransport& ranks, const World& world);

/// Combines the set-up of all ranks: the lowest failure, and whether any rank was asked to stop.
void share_set_up(transport::RankTransport& ranks, std::optional<SetUpFailure>& failure,
                  bool& stopped);

/// Distributes each rank's part of the metrics to all ranks.
std::vector<Finisher::Part> share_parts(transport::RankTransport& ranks,
                                        const Finisher::Part& part);

/// The result of the whole run, at rank 0: fingerprint, metrics, fault of a finish(), memory and
/// notes. On other ranks the result lacks these.
void share_end(transport::RankTransport& ranks, const Model& model, Finisher::Part part,
               RunResult& result);

}  // namespace orrery
