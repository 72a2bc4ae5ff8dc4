// SPDX-License-Identifier: Apache-2.0
//
// The options of this engine, and the settings that it derives from the options of a run.
#pragma once

#include <cstdint>
#include <string>

#include "run/options/options.h"

namespace orrery::conservative {

extern const Option<std::string> kMode;  ///< auto, or one of Mode

// For tests only.
extern const Option<std::uint64_t> kChannelMessages;  ///< messages that a ring holds
extern const Option<std::uint64_t> kHaltEvery;        ///< events from halt to halt; 0: as needed

enum class Mode : std::uint8_t {
  automatic,  ///< the faster of the others
  promises,   ///< all workers execute, as far as their promises permit
  in_place    ///< one worker executes; the others sleep
};

struct Settings {
  static Settings of(const RunOptions& options);

  Mode mode = Mode::automatic;
  std::uint32_t channel_messages = 4096;
  std::uint64_t halt_every = 0;
};

/// All options that the engine accepts.
OptionList options();

}  // namespace orrery::conservative
