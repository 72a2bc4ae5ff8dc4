// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/options.h"

#include "checkpoint/copier.h"
#include "checkpoint/offload.h"
#include "checkpoint/page_tracker.h"
#include "checkpoint/strategy.h"
#include "run/options/option_forms.h"

namespace orrery::checkpoint {
namespace {

constexpr OptionGroup kGroup{.heading = "Checkpoints"};

const OptionRule rule{[](const RunOptions& options) { Offload::parse(options); }};

}  // namespace

const Option<std::string> kCheckpoint{
    {.name = "checkpoint",
     .type = "NAME",
     .help = "Kind of checkpoints, and how often they are taken",
     .group = kGroup,
     .field = "checkpoint"},
    "auto",
    option_forms::checked_text([](const std::string& text) { Strategy::parse(text); },
                               Strategy::names())};

const Option<std::string> kOffload{
    {.name = "offload",
     .type = "MODE",
     .help = "Let other threads copy checkpoints, one at a time (mono) or several (multi)",
     .group = kGroup,
     .field = "offload"},
    "none",
    option_forms::choice({"none", "mono", "multi"})};

const Option<std::string> kCopier{
    {.name = "copier",
     .type = "NAME",
     .help = "What copies offloaded checkpoints",
     .group = kGroup,
     .field = "copier"},
    "thread",
    option_forms::checked_text([](const std::string& name) { find_copier_backend(name); },
                               copier_names())};

const Option<std::uint64_t> kCopiers{{.name = "copiers",
                                      .type = "N",
                                      .help = "Number of threads that copy checkpoints",
                                      .group = kGroup,
                                      .field = "copiers"},
                                     1,
                                     option_forms::count(0, kMostWorkers)};

const Option<std::uint64_t> kBurst{{.name = "burst",
                                    .type = "SIZE",
                                    .help = "Bytes that a copier copies at a time",
                                    .group = kGroup,
                                    .field = "burst_bytes"},
                                   1024,
                                   option_forms::bytes(64, 1u << 30, "such as 4KiB")};

const Option<double> kAbortThreshold{
    {.name = "abort-threshold",
     .type = "SHARE",
     .help = "Share of a copy, 0 to 1, from which on it is finished and not given up",
     .group = kGroup,
     .field = "abort_threshold"},
    -1,
    option_forms::share_or_auto()};

const Option<std::uint64_t> kMaxDistance{
    {.name = "max-checkpoint-distance",
     .type = "N",
     .help = "Events since the last checkpoint after which a copy is never given up",
     .group = kGroup,
     .field = "max_checkpoint_distance"},
    40,
    option_forms::count(1, 1'000'000)};

const Option<std::int64_t> kTrackedRanges{"tracked-ranges", -1};

OptionList options() {
  return {&kCheckpoint, &kOffload, &kCopier, &kCopiers, &kBurst, &kAbortThreshold, &kMaxDistance};
}

std::shared_ptr<PageTracker> make_tracker(const RunOptions& options) {
  const std::int64_t ranges = options.get(kTrackedRanges);
  return ranges < 0 ? std::make_shared<PageTracker>()
                    : std::make_shared<PageTracker>(static_cast<std::size_t>(ranges));
}

}  // namespace orrery::checkpoint
