// SPDX-License-Identifier: Apache-2.0
#include "engine/auto/settings.h"

#include <algorithm>
#include <limits>

#include "engine/auto/candidates.h"
#include "run/options/option_forms.h"

namespace orrery::automatic {
namespace {

constexpr OptionGroup kGroup{.heading = "Engine auto"};

OptionForm<std::uint64_t> events_or_never() {
  OptionForm<std::uint64_t> form =
      option_forms::count(1, std::numeric_limits<std::uint64_t>::max());
  form.write = [](const std::uint64_t& events) {
    return events == 0 ? std::string("never") : std::to_string(events);
  };
  form.read = [read = form.read](const OptionText& text) {
    return text.text == "never" ? 0 : read(text);
  };
  return form;
}

}  // namespace

const Option<std::string> kCandidates{
    {.name = "candidates",
     .type = "ENGINE,...",
     .help = "Engines to choose from, also with numbers of workers: sequential,timewarp:4",
     .group = kGroup,
     .field = "candidates",
     .default_words = "all engines that give results"},
    "",
    option_forms::checked_text([](const std::string& text) { check_candidates(text); }, "")};

const Option<std::uint64_t> kHandOverEvery{
    {.name = "hand-over-every",
     .type = "EVENTS",
     .help = "For tests: change the engine after this number of events, without measuring",
     .group = kGroup,
     .field = "hand_over_every"},
    0,
    events_or_never()};

OptionList options() {
  OptionList all = {&workers_option(), &kCandidates, &kHandOverEvery};
  for (const EngineInfo* engine : eligible_engines())
    for (const OptionBase* option : engine->options())
      if (std::find(all.begin(), all.end(), option) == all.end()) all.push_back(option);
  return all;
}

}  // namespace orrery::automatic
