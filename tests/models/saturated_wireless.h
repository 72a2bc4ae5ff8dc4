// SPDX-License-Identifier: Apache-2.0
//
// Stations of the model `wireless` that always have something to send to one in their middle: what
// its own test compares with Bianchi's analysis, and that of the laboratory's radio channel with
// it.
#pragma once

#include <string>

#include "models/simulation.h"
#include "orrery/time.h"

namespace orrery::testing {

/// Throughput in Mb/s of 4 s, after 100 ms.
inline double saturated_wireless_mbps(unsigned senders) {
  const Settings settings = {{"stations", std::to_string(senders + 1)},
                             {"gateways", "1"},
                             {"layout", "disc"},
                             {"spacing", "1"},
                             {"reception", "collision"},
                             {"load", "20000"},
                             {"retries", "255"},
                             {"queue", "5"},
                             {"warm_up", "100ms"}};
  return Simulation("wireless", settings, Duration::milliseconds(4100))["throughput"];
}

}  // namespace orrery::testing
