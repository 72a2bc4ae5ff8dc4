// SPDX-License-Identifier: Apache-2.0
//
// The options of this engine, and the settings that it derives from the options of a run.
#pragma once

#include <string>
#include <string_view>

#include "run/options/options.h"

namespace orrery::expanded {

extern const Option<std::string> kMode;  ///< auto, or one of Mode

/// Which threads execute events.
enum class Mode {
  in_place,  ///< the coordinator executes everything; workers sleep
  batched,   ///< all workers, which get events in batches that take some microseconds
};

/// The mode's name in --expanded-mode.
std::string_view name_of(Mode mode);

struct Settings {
  static Settings of(const RunOptions& options);

  bool automatic = true;
  Mode mode = Mode::in_place;  ///< in which a run begins; it stays in it if not automatic
  std::string note;            ///< on a mode that has gone; may be empty
};

/// All options that the engine accepts.
OptionList options();

}  // namespace orrery::expanded
