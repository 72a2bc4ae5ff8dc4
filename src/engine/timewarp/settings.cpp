// SPDX-License-Identifier: Apache-2.0
#include "engine/timewarp/settings.h"

#include "checkpoint/options.h"
#include "orrery/error.h"
#include "run/options/disturbances.h"
#include "run/options/option_forms.h"

namespace orrery::timewarp {
namespace {

constexpr OptionGroup kGroup{.heading = "Engine timewarp"};
constexpr double kMicrosecond = 1e-6;

/// Below kLeast the time goes into ticks only; above kMost ticks have no effect.
OptionForm<std::int64_t> tick_form() {
  constexpr std::int64_t kLeast = 50, kMost = 10'000;
  OptionForm<std::int64_t> form = option_forms::duration_or_auto(kMicrosecond);
  form.read = [](const OptionText& given) {
    const std::int64_t ticks = option_forms::read_positive_ticks(given, kMicrosecond);
    if (ticks >= kLeast && ticks <= kMost) return ticks;
    throw UsageError(given.flag + " needs a time from 50us to 10ms, not '" + given.text + "'");
  };
  return form;
}

}  // namespace

const Option<std::int64_t> kWindow{
    {.name = "window",
     .type = "TIME",
     .help = "Greatest simulated time that a worker may run ahead of GVT",
     .group = kGroup,
     .field = "window_ticks"},
    0,
    option_forms::duration_or_auto()};

const Option<std::int64_t> kGvtPeriod{{.name = "gvt-period",
                                       .type = "TIME",
                                       .help = "Wall-clock time between GVT computations",
                                       .group = kGroup,
                                       .field = "gvt_period_us"},
                                      0,
                                      option_forms::duration_or_auto(kMicrosecond)};

const Option<bool> kBalance{{.name = "balance",
                             .type = "on|off",
                             .help = "Move LPs between workers whose loads differ",
                             .group = kGroup,
                             .field = "balance"},
                            true,
                            option_forms::on_or_off()};

const Option<bool> kCacheAware{
    {.name = "cache-aware",
     .type = "on|off",
     .help = "Keep model memory and checkpoints on different sets of the cache (a number for "
             "--cache-share implies it)",
     .group = kGroup,
     .field = "cache_aware"},
    false,
    option_forms::on_or_off()};

const Option<double> kCacheShare{
    {.name = "cache-share",
     .type = "SHARE",
     .help = "Share of the cache sets for model memory and events, 0 to 1",
     .group = kGroup,
     .field = "cache_share"},
    -1,
    option_forms::share_or_auto()};

const Option<std::string> kOversize{
    {.name = "oversize",
     .type = "NAME",
     .help = "Serve or refuse a model's requests for more than 64 KiB",
     .group = kGroup,
     .field = "oversize"},
    "reliable",
    option_forms::choice({"reliable", "deny"})};

const Option<std::string> kPreempt{
    {.name = "preempt",
     .type = "NAME",
     .help = "Interrupt handlers when an earlier event arrives (demand), every --tick, or both",
     .group = kGroup,
     .field = "preempt"},
    "auto",
    option_forms::choice({"auto", "off", "demand", "tick", "both"})};

const Option<std::int64_t> kTick{{.name = "tick",
                                  .type = "TIME",
                                  .help = "Wall-clock time between ticks of --preempt tick or both",
                                  .group = kGroup,
                                  .field = "tick_us"},
                                 100,
                                 tick_form()};

OptionList options() {
  OptionList all = checkpoint::options();
  all.insert(all.end(), {&workers_option(), &memory_option(), &bind_option(), &threads_option(),
                         &partition_option(), &write_partition_option(), &kWindow, &kGvtPeriod,
                         &kBalance, &kCacheAware, &kCacheShare, &kOversize, &kPreempt, &kTick});
  return all;
}

Settings Settings::of(const RunOptions& options) {
  Settings settings;
  settings.strategy = checkpoint::Strategy::parse(options.get(checkpoint::kCheckpoint));
  settings.offload = checkpoint::Offload::parse(options);
  const std::string& preempt = options.get(kPreempt);
  settings.preempt_asked = preempt != "auto" && preempt != "off";
  settings.preempt_on_demand = preempt == "auto" || preempt == "demand" || preempt == "both";
  if (preempt == "tick" || preempt == "both")
    settings.preempt_tick_seconds = static_cast<double>(options.get(kTick)) * kMicrosecond;
  settings.channel_messages = options.disturbances->channel_messages(settings.channel_messages);
  settings.preempt_at_calls = options.disturbances->interrupts_at_calls();
  return settings;
}

}  // namespace orrery::timewarp
