// SPDX-License-Identifier: Apache-2.0
#include "cli/pilots.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/command.h"
#include "core/duration_text.h"
#include "orrery/error.h"
#include "output/batch_means.h"
#include "output/result_files.h"
#include "run/results/metric_options.h"
#include "study/campaign.h"
#include "study/study_folder.h"
#include "study/warm_up.h"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

/// The distance of the pilots' seeds from those of the study, more than a study can reach.
constexpr std::uint64_t kSeedsBetween = 1'000'000;

study::Plan pilot_plan(const study::Plan& plan) {
  study::Plan pilots = plan;
  pilots.rules.clear();
  const std::uint64_t largest = *std::max_element(plan.seeds.begin(), plan.seeds.end());
  pilots.seeds.clear();
  for (std::uint64_t i = 1; i <= study::kPilots; ++i)
    pilots.seeds.push_back(largest + kSeedsBetween + i);
  return pilots;
}

/// Adds one option to all runs.
void add_option(study::RunMaker& maker, const OptionBase& option, const std::string& value) {
  maker.command = [runs = maker.command, word = option.flag() + "=" + value](std::size_t point,
                                                                             std::uint64_t seed) {
    std::vector<std::string> words = runs(point, seed);
    words.push_back(word);
    return words;
  };
}

/// The same runs, observed from their beginning.
study::RunMaker pilot_maker(const SweepPlan& sweep) {
  study::RunMaker maker = sweep.maker;
  add_option(maker, batch_means_option(), sweep.warm_up_metric);
  return maker;
}

int told(const study::Campaign& pilots, int signal) {
  fmt::print(stderr, "orrery: interrupted: {} of {} pilots for the warm-up are finished\n",
             pilots.done(), pilots.total());
  return kExitSignal + signal;
}

struct PointWarmUp {
  study::WarmUp found;
  double tick_seconds = 1e-9;
};

PointWarmUp warm_up_at(std::size_t point, const study::Plan& plan, const std::string& metric,
                       const study::StudyFolder& folder, const study::RunMaker& maker) {
  PointWarmUp result;
  std::vector<study::PilotInterval> sums;
  for (const std::uint64_t seed : plan.seeds) {
    const std::string run = folder.run_folder(point, seed);
    nlohmann::ordered_json report;
    if (look_for_run(run, maker.identity(point, seed), report) != study::Found::finished)
      throw UsageError(fmt::format("a pilot's results in '{}' were changed meanwhile", run));
    result.tick_seconds = report.at("model").at("tick_seconds");
    study::add_pilot(fmt::format("{}/{}", run, ResultFiles::kDatabaseName), metric, sums);
  }
  result.found = study::warm_up_of(sums);
  return result;
}

void refuse_unclear(const study::WarmUp& found, const std::string& metric,
                    const study::Settings& point) {
  if (found.at_end_only)
    throw UsageError(
        fmt::format("--warm-up auto:{}: {}, or give --warm-up a time", metric, kRecordedAtEnd));
  if (found.no_values)
    throw UsageError(fmt::format(
        "--warm-up auto:{}: {}no pilot has a value of it; name another metric, or run longer "
        "(--until)",
        metric, study::with_text(point)));
  if (found.too_short)
    throw UsageError(fmt::format(
        "--warm-up auto:{}: {}the runs are too short to tell where their beginning ends; run "
        "longer (--until), or give --warm-up a time",
        metric, study::with_text(point)));
}

/// The longest warm-up of all points.
study::FixedWarmUp longest(const SweepPlan& sweep, const study::Plan& plan,
                           const study::StudyFolder& folder, const study::RunMaker& maker) {
  study::FixedWarmUp fixed;
  fixed.metric = sweep.warm_up_metric;
  for (std::size_t point = 0; point < plan.points.size(); ++point) {
    const PointWarmUp one = warm_up_at(point, plan, fixed.metric, folder, maker);
    refuse_unclear(one.found, fixed.metric, plan.points[point]);
    const std::int64_t ticks = study::rounded_up(one.found.ticks, one.tick_seconds);
    if (ticks < fixed.ticks) continue;
    fixed.ticks = ticks;
    fixed.point = point;
    fixed.text = duration_text(Duration::from_ticks(ticks), one.tick_seconds);
  }
  return fixed;
}

}  // namespace

std::optional<study::FixedWarmUp> fix_warm_up(SweepPlan& sweep, const std::string& folder,
                                              const SweepRequest& request) {
  if (sweep.warm_up_metric.empty()) return {};
  const study::Plan plan = pilot_plan(sweep.plan);
  const study::RunMaker maker = pilot_maker(sweep);
  const std::string path = (fs::path(folder) / "pilots").string();
  nlohmann::ordered_json identity = sweep.identity;
  identity["pilots_of"] = sweep.warm_up_metric;
  const study::StudyFolder pilots(path, identity, request.force);
  if (!request.quiet)
    fmt::print(stderr, "orrery: {} pilots at each of {} points for the warm-up\n", study::kPilots,
               plan.points.size());
  study::Campaign campaign(plan, pilots, maker, request.quiet);
  if (const int signal = campaign.carry_out(); signal != 0)
    throw PilotsEnded{told(campaign, signal)};
  if (!campaign.failures().empty()) {
    fmt::print(stderr, "orrery: {} of {} pilots for the warm-up failed\n",
               campaign.failures().size(), campaign.total());
    throw PilotsEnded{campaign.failures().front().code};
  }
  study::FixedWarmUp fixed = longest(sweep, plan, pilots, maker);
  add_option(sweep.maker, warm_up_option(), fixed.text);
  return fixed;
}

}  // namespace orrery::cli
