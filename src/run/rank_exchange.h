// SPDX-License-Identifier: Apache-2.0
//
// What the ranks of a run tell each other while it is set up and when it ends: in order, waiting
// for each other, so that all know the same of how it went. What a single process would have said
// is said of all: the failure with the lowest phase and LP, the parts of the end in the order of
// LPs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "run/finish.h"
#include "run/team.h"
#include "run/world.h"
#include "transport/ranks/rank_transport.h"

namespace orrery {

/// Throws UsageError, on all ranks, if they do not all deal the LPs to ranks alike.
void check_placement(transport::RankTransport& ranks, const World& world);

/// How setting up went everywhere: the lowest failure, and whether any rank was asked to stop.
void share_set_up(transport::RankTransport& ranks, std::optional<SetUpFailure>& failure,
                  bool& stopped);

/// What each rank has of the metrics, for all ranks.
std::vector<Finisher::Part> share_parts(transport::RankTransport& ranks,
                                        const Finisher::Part& part);

/// The result of the whole run, at rank 0: fingerprint, metrics, fault of a finish(), memory and
/// notes. Elsewhere the result says nothing of these.
void share_end(transport::RankTransport& ranks, const Model& model, Finisher::Part part,
               RunResult& result);

}  // namespace orrery
