// SPDX-License-Identifier: Apache-2.0
//
// The page of a run in progress: one document that requests only the run's state, in the style of
// the pages of `orrery report`. The server prepares the parts that change (state.h). The script inserts
// them, draws the map of LPs, whose thousands of cells would be too many for markup each second,
// and asks the user before it stops the run.
#pragma once

#include <string>

#include "live/facts.h"

namespace orrery::live {

/// `nonce`: identifies the page's script and style to the browser (Content-Security-Policy).
std::string page_of(const Facts& facts, const std::string& nonce);

}  // namespace orrery::live
