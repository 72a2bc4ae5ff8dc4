// SPDX-License-Identifier: Apache-2.0
//
// The state of a run as JSON (docs/live.md describes the fields): numbers for programs, under their
// names in a report, and markup of the parts of the page that change. The code for the pages of
// reports makes this markup, so that the page's script stays small.
#pragma once

#include <cstdint>
#include <string>

#include "live/board.h"
#include "live/facts.h"

namespace orrery::live {

inline constexpr int kStateSchema = 1;

/// `known_look`: the number of the last look that the reader has; that look's map is left out; 0:
/// none.
std::string state_json(const Facts& facts, const View& view, std::uint64_t known_look);

}  // namespace orrery::live
