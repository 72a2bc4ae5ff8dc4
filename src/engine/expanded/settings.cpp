// SPDX-License-Identifier: Apache-2.0
#include "engine/expanded/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "run/options/option_forms.h"
#include "run/options/retired_option.h"

namespace orrery::expanded {
namespace {

constexpr OptionGroup kGroup{.heading = "Engine expanded"};
constexpr std::string_view kInPlace = "in-place", kBatched = "batched";
/// Modes of earlier versions, which `batched` replaces.
constexpr std::string_view kGone[] = {"single", "decentralised"};

bool has_gone(std::string_view mode) {
  return std::find(std::begin(kGone), std::end(kGone), mode) != std::end(kGone);
}

OptionForm<std::string> mode_form() {
  auto form = option_forms::choice({"auto", std::string(kInPlace), std::string(kBatched)});
  form.read = [read = form.read](const OptionText& given) {
    return has_gone(given.text) ? given.text : read(given);
  };
  return form;
}

}  // namespace

std::string_view name_of(Mode mode) {
  return mode == Mode::in_place ? kInPlace : kBatched;
}

const Option<std::string> kMode{{.name = "expanded-mode",
                                 .type = "NAME",
                                 .help = "How the coordinator gives events to workers",
                                 .group = kGroup,
                                 .field = "expanded_mode"},
                                "auto",
                                mode_form()};

namespace {

constexpr const char* kSuccessor = "workers get events as --expanded-mode says";
const RetiredOption hand_over{"handover", kSuccessor};
const RetiredOption barrier{"barrier", kSuccessor};

}  // namespace

OptionList options() {
  return {&workers_option(), &bind_option(), &kMode};
}

Settings Settings::of(const RunOptions& options) {
  Settings settings;
  const std::string mode = options.get(kMode);
  settings.automatic = mode == kMode.default_value();
  if (!settings.automatic && mode != kInPlace) settings.mode = Mode::batched;
  if (has_gone(mode)) settings.note = fmt::format("--expanded-mode {} is {} now", mode, kBatched);
  return settings;
}

}  // namespace orrery::expanded
