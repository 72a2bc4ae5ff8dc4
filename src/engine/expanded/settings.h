// SPDX-License-Identifier: Apache-2.0
//
// The options of this engine, and the settings that it derives from the options of a run.
#pragma once

#include <string>
#include <string_view>

#include "run/options/options.h"

namespace orrery::expanded {

extern const Option<std::string> kMode;      ///< auto, or one of Mode
extern const Option<std::string> kHandover;  ///< push, pull
extern const Option<std::string> kBarrier;   ///< local, event

/// Which threads execute events, and how events get to them.
enum class Mode {
  in_place,       ///< the coordinator executes everything; workers sleep
  single,         ///< the coordinator hands one event at a time to each worker
  batched,        ///< the coordinator hands over batches that take some microseconds
  decentralised,  ///< workers take events themselves
};

/// The mode's name in --expanded-mode.
std::string_view name_of(Mode mode);

struct Settings {
  /// Throws UsageError for options that cannot be combined.
  static Settings of(const RunOptions& options);

  bool automatic = true;
  Mode mode = Mode::in_place;  ///< if not automatic
  bool pull = false;
  bool barriers_as_events = false;

 private:
  void require_single(const std::string& asked);
};

/// All options that the engine accepts.
OptionList options();

}  // namespace orrery::expanded
