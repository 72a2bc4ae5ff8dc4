// SPDX-License-Identifier: Apache-2.0
//
// What the options of a run mean to this engine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/model_registry.h"
#include "orrery/error.h"
#include "run/engine.h"

namespace orrery::expanded {

/// Who executes events, and how they get there.
enum class Mode {
  in_place,       ///< the coordinator executes everything; workers sleep
  single,         ///< it hands one event at a time to each worker
  batched,        ///< it hands over as many as make some microseconds
  decentralised,  ///< workers take events themselves
};

struct Settings {
  bool automatic = true;
  Mode mode = Mode::in_place;  ///< if not automatic
  bool pull = false;
  bool barriers_as_events = false;

  static Settings of(const RunOptions& options) {
    Settings settings;
    const auto mode = choose("--expanded-mode", options.expanded_mode,
                             {"auto", "in-place", "single", "batched", "decentralised"});
    settings.automatic = mode == 0;
    if (mode > 0) settings.mode = static_cast<Mode>(mode - 1);
    settings.pull = choose("--handover", options.handover, {"push", "pull"}) == 1;
    settings.barriers_as_events = choose("--barrier", options.barrier, {"local", "event"}) == 1;
    if (settings.pull) settings.require_single(options.expanded_mode);
    return settings;
  }

 private:
  static std::size_t choose(std::string_view option, const std::string& value,
                            const std::vector<std::string>& names) {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == value) return i;
    std::string text = std::string(option) + " has no choice '" + value + "'" +
                       near_matches(value, names) + " (choices: ";
    for (const std::string& name : names) text += (&name == &names[0] ? "" : ", ") + name;
    throw UsageError(text + ")");
  }
  void require_single(const std::string& asked) {
    if (!automatic && mode != Mode::single) {
      throw UsageError(
          "--handover pull hands over one event at a time and cannot be combined with "
          "--expanded-mode " +
          asked + "; use single");
    }
    automatic = false;
    mode = Mode::single;
  }
};

}  // namespace orrery::expanded
