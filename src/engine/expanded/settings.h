// SPDX-License-Identifier: Apache-2.0
//
// The options of this engine, and what the options of a run mean to it.
#pragma once

#include <string>
#include <string_view>

#include "run/options.h"

namespace orrery::expanded {

extern const Option<std::string> kMode;      ///< auto, or one of Mode
extern const Option<std::string> kHandover;  ///< push, pull
extern const Option<std::string> kBarrier;   ///< local, event

/// Who executes events, and how they get there.
enum class Mode {
  in_place,       ///< the coordinator executes everything; workers sleep
  single,         ///< it hands one event at a time to each worker
  batched,        ///< it hands over as many as make some microseconds
  decentralised,  ///< workers take events themselves
};

/// As the option has it.
std::string_view name_of(Mode mode);

struct Settings {
  /// Throws UsageError for what cannot be.
  static Settings of(const RunOptions& options);

  bool automatic = true;
  Mode mode = Mode::in_place;  ///< if not automatic
  bool pull = false;
  bool barriers_as_events = false;

 private:
  void require_single(const std::string& asked);
};

/// What the engine honours.
OptionList options();

}  // namespace orrery::expanded
