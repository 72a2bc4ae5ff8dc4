// SPDX-License-Identifier: Apache-2.0
//
// The page of a run that goes on: one document that asks for nothing but the run's state, in the
// style of the pages that `orrery report` makes. What changes comes ready from the server
// (state.h); the script puts it where it belongs, draws the map of LPs, whose thousands of cells
// would be too many for markup each second, and asks before it stops the run.
#pragma once

#include <string>

#include "live/facts.h"

namespace orrery::live {

/// `nonce`: what its script and style are known by to the browser (Content-Security-Policy).
std::string page_of(const Facts& facts, const std::string& nonce);

}  // namespace orrery::live
