// SPDX-License-Identifier: Apache-2.0
//
// Gathers the lanes of all ranks at rank 0. Processes on one machine have the same clock; the times
// of several machines differ by as much as their system clocks.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/life.h"
#include "transport/ranks/rank_transport.h"

namespace orrery::trace {

/// Call it on all ranks. Returns the lanes by rank, in rank 0's wall-clock time, at rank 0; nothing
/// at other ranks.
std::vector<std::vector<Lane>> gather_lanes(transport::RankTransport& ranks,
                                            std::vector<Lane> lanes,
                                            std::int64_t epoch_nanoseconds);

}  // namespace orrery::trace
