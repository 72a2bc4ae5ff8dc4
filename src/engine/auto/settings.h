// SPDX-License-Identifier: Apache-2.0
//
// The options of this engine.
#pragma once

#include <cstdint>
#include <string>

#include "run/options/options.h"

namespace orrery::automatic {

inline constexpr const char* kName = "auto";

extern const Option<std::string> kCandidates;       ///< "" or names, each perhaps with ":workers"
extern const Option<std::uint64_t> kHandOverEvery;  ///< events; 0: where it pays

/// All options that the engine accepts: its own, and those of all engines that it may choose.
OptionList options();

}  // namespace orrery::automatic
