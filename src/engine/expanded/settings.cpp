// SPDX-License-Identifier: Apache-2.0
#include "engine/expanded/settings.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "orrery/error.h"
#include "run/options/option_forms.h"

namespace orrery::expanded {
namespace {

constexpr OptionGroup kGroup{.heading = "Engine expanded"};
constexpr const char* kAutomatic = "auto";

/// In the order of Mode.
constexpr std::string_view kModeNames[] = {"in-place", "single", "batched", "decentralised"};

std::vector<std::string> mode_names() {
  return {std::begin(kModeNames), std::end(kModeNames)};
}

std::vector<std::string> mode_choices() {
  std::vector<std::string> names = mode_names();
  names.insert(names.begin(), kAutomatic);
  return names;
}

const OptionRule rule{[](const RunOptions& options) { Settings::of(options); }};

}  // namespace

std::string_view name_of(Mode mode) {
  return kModeNames[static_cast<std::size_t>(mode)];
}

const Option<std::string> kMode{{.name = "expanded-mode",
                                 .type = "NAME",
                                 .help = "How events get to workers",
                                 .group = kGroup,
                                 .field = "expanded_mode"},
                                kAutomatic,
                                option_forms::choice(mode_choices())};

const Option<std::string> kHandover{{.name = "handover",
                                     .type = "NAME",
                                     .help = "Who moves an event to its worker",
                                     .group = kGroup,
                                     .field = "handover"},
                                    "push",
                                    option_forms::choice({"push", "pull"})};

const Option<std::string> kBarrier{{.name = "barrier",
                                    .type = "NAME",
                                    .help = "Barriers, of each worker or as events",
                                    .group = kGroup,
                                    .field = "barrier"},
                                   "local",
                                   option_forms::choice({"local", "event"})};

OptionList options() {
  return {&workers_option(), &bind_option(), &kMode, &kHandover, &kBarrier};
}

Settings Settings::of(const RunOptions& options) {
  Settings settings;
  const std::string mode = options.get(kMode);
  const std::vector<std::string> names = mode_names();
  const auto named = std::find(names.begin(), names.end(), mode);
  settings.automatic = named == names.end();
  if (!settings.automatic) settings.mode = static_cast<Mode>(named - names.begin());
  settings.pull = options.get(kHandover) == "pull";
  settings.barriers_as_events = options.get(kBarrier) == "event";
  if (settings.pull) settings.require_single(mode);
  return settings;
}

void Settings::require_single(const std::string& asked) {
  if (!automatic && mode != Mode::single) {
    throw UsageError(
        "--handover pull hands over one event at a time and cannot be combined with "
        "--expanded-mode " +
        asked + "; use single");
  }
  automatic = false;
  mode = Mode::single;
}

}  // namespace orrery::expanded
