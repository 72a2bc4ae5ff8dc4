// SPDX-License-Identifier: Apache-2.0
//
// The lanes of all ranks, at rank 0. Clocks of processes on one machine are the same; those of
// several are as far apart as their systems' clocks.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/life.h"
#include "transport/ranks/rank_transport.h"

namespace orrery::trace {

/// By all ranks. By rank at rank 0, in its wall-clock time; nothing elsewhere.
std::vector<std::vector<Lane>> gather_lanes(transport::RankTransport& ranks,
                                            std::vector<Lane> lanes,
                                            std::int64_t epoch_nanoseconds);

}  // namespace orrery::trace
