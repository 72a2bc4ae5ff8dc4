// SPDX-License-Identifier: Apache-2.0
#include "engine/conservative/settings.h"

#include <algorithm>
#include <vector>

#include "run/options/option_forms.h"

namespace orrery::conservative {
namespace {

constexpr OptionGroup kGroup{.heading = "Engine conservative"};

/// In the order of Mode.
std::vector<std::string> mode_names() {
  return {"auto", "promises", "in-place"};
}

}  // namespace

const Option<std::string> kMode{{.name = "conservative-mode",
                                 .type = "NAME",
                                 .help = "Let all workers execute, or one, or the faster of both",
                                 .group = kGroup,
                                 .field = "conservative_mode"},
                                "auto",
                                option_forms::choice(mode_names())};

const Option<std::uint64_t> kChannelMessages{"conservative-channel-messages", 4096};
const Option<std::uint64_t> kHaltEvery{"conservative-halt-every", 0};

OptionList options() {
  return {&workers_option(),         &bind_option(), &threads_option(), &partition_option(),
          &write_partition_option(), &kMode};
}

Settings Settings::of(const RunOptions& options) {
  Settings settings;
  const std::vector<std::string> names = mode_names();
  const auto named = std::find(names.begin(), names.end(), options.get(kMode));
  settings.mode = static_cast<Mode>(named - names.begin());
  settings.channel_messages = static_cast<std::uint32_t>(options.get(kChannelMessages));
  settings.halt_every = options.get(kHaltEvery);
  return settings;
}

}  // namespace orrery::conservative
