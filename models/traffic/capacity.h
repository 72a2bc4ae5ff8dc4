// SPDX-License-Identifier: Apache-2.0
//
// The capacities of the links of a network file. Usually the file states them. Some networks
// (Barcelona and Winnipeg of the TNTP collection) have a capacity of 1 on all links, and the real
// capacity follows from B and power. The volume-delay function of the Bureau of Public Roads
// (Traffic Assignment Manual, 1964) is
//
//   t = t0 (1 + 0.15 (v / c)^p)
//
// with volume v and capacity c. These files write it as t = t0 (1 + B v^p), so B = 0.15 / c^p, and
// the capacity is (B / 0.15)^(-1/p). A link with B = 0 has no congestion. Taken literally, such a
// file would let one vehicle an hour pass.
//
// A capacity of 0 with B above 0 makes t infinite: the link is closed. Munich has 18 such links,
// without speed and time, each the closed direction of a one-way street. With B = 0 the capacity
// does not matter, as there is no congestion.
#pragma once

#include <string>
#include <vector>

#include "tntp.h"

namespace traffic {

struct Capacities {
  std::vector<double> per_hour;  ///< of each link; infinite: no congestion; 0: closed
  std::vector<std::string> notes;
};

/// Throws UsageError if the file has no capacities and none can be derived.
Capacities capacities_of(const TntpNetwork& network);

}  // namespace traffic
