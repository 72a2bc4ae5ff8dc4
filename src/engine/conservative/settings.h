// SPDX-License-Identifier: Apache-2.0
//
// The options of this engine, and what the options of a run mean to it.
#pragma once

#include <cstdint>
#include <string>

#include "run/options.h"

namespace orrery::conservative {

extern const Option<std::string> kMode;  ///< auto, or one of Mode

// For tests only.
extern const Option<std::uint64_t> kChannelMessages;  ///< that a ring holds
extern const Option<std::uint64_t> kHaltEvery;        ///< events from halt to halt; 0: as needed

enum class Mode : std::uint8_t {
  automatic,  ///< whichever is faster
  promises,   ///< all workers, as far as they promise each other
  in_place    ///< one worker; the others sleep
};

struct Settings {
  static Settings of(const RunOptions& options);

  Mode mode = Mode::automatic;
  std::uint32_t channel_messages = 4096;
  std::uint64_t halt_every = 0;
};

/// What the engine honours.
OptionList options();

}  // namespace orrery::conservative
