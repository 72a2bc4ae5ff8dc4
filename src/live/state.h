// SPDX-License-Identifier: Apache-2.0
//
// The state of a run as JSON (docs/live.md has the fields): numbers for programs, by the names that
// they have in a report, and, ready to be shown, the parts of the page that change. Those are made
// here by what makes the pages of reports, so that the script of the page has little to do.
#pragma once

#include <cstdint>
#include <string>

#include "live/board.h"
#include "live/facts.h"

namespace orrery::live {

inline constexpr int kStateSchema = 1;

/// `known_look`: the number of the last look that the reader has, whose map is left out; 0: none.
std::string state_json(const Facts& facts, const View& view, std::uint64_t known_look);

}  // namespace orrery::live
