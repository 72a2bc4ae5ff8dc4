// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/model_registry.h"
#include "core/modules.h"
#include "orrery/error.h"
#include "output/host.h"
#include "run/options/option_forms.h"
#include "run/results/metric_options.h"

namespace orrery::cli {
namespace {

using study::Axis;
using study::Settings;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t kDefaultSeeds = 10, kDefaultMostSeeds = 1000, kMostSeeds = 100'000;
constexpr std::uint64_t kMostJobs = 4096, kMostRuns = 1'000'000;

/// The axes of the study file, with values replaced by those of the command line, and the axes that
/// only the command line has.
std::vector<Axis> axes_of(SweepRequest& request) {
  std::vector<Axis> axes = request.file_axes;
  for (const auto& [name, values] : settings_of(request.sets)) {
    Axis axis{name, at_key(request, "", fmt::format("--set {}: ", name),
                           [&, text = &values] { return study::expand_values(*text); })};
    request.places.lines.erase("set." + name);
    const auto same = std::find_if(axes.begin(), axes.end(),
                                   [&](const Axis& one) { return one.name == axis.name; });
    if (same == axes.end())
      axes.push_back(std::move(axis));
    else
      *same = std::move(axis);
  }
  return axes;
}

/// Checks every value of every axis and point on a model that is never run.
void check_values(const SweepRequest& request, const std::vector<Axis>& axes, Model& model) {
  for (const Axis& axis : axes)
    at_key(request, "set." + axis.name, "", [&] {
      for (const std::string& value : axis.values) set_parameter(model, axis.name, value);
    });
  for (std::size_t i = 0; i < request.points.size(); ++i) {
    for (const auto& [name, value] : request.points[i]) {
      try {
        set_parameter(model, name, value);
        if (std::any_of(axes.begin(), axes.end(),
                        [&, own = &name](const Axis& axis) { return axis.name == *own; }))
          throw UsageError("its values are set beside the points, too; leave one of both away");
      } catch (const UsageError& error) {
        throw UsageError(file_place(request.places.file, request.point_lines[i], name) +
                         error.what());
      }
    }
  }
}

void check_options(const SweepRequest& request, const Model& model) {
  read_options(request, model);
  if (!request.engine.empty()) at_key(request, "engine", "", [&] { find_engine(request.engine); });
}

std::uint64_t count_of(const char* flag, const std::string& text, std::uint64_t otherwise,
                       std::uint64_t most) {
  return text.empty() ? otherwise : option_forms::read_count(flag, text, 1, most);
}

void read_rules(const SweepRequest& request, double confidence, study::Plan& plan) {
  for (const std::string& text : request.precisions) {
    at_key(request, "until-precision", "",
           [&] { plan.rules.push_back(study::PrecisionRule::parse(text, confidence)); });
  }
  plan.most_seeds = count_of("--max-seeds", request.max_seeds, kDefaultMostSeeds, kMostSeeds);
  if (plan.rules.empty()) {
    if (!request.max_seeds.empty())
      throw UsageError("--max-seeds means something only with --until-precision");
    return;
  }
  at_key(request, "seeds", "", [&] {
    if (plan.seeds.size() >= study::kLeastReplications) return;
    throw UsageError(fmt::format(
        "--until-precision begins with at least {} replications, and --seeds names {}; with fewer "
        "an interval that is narrow by chance ends the study",
        study::kLeastReplications, plan.seeds.size()));
  });
  if (plan.most_seeds < plan.seeds.size())
    throw UsageError(fmt::format("--max-seeds {} is less than the {} seeds of --seeds",
                                 plan.most_seeds, plan.seeds.size()));
}

/// A single number may be meant as a count. 0 and 1 may not: no study has 0 seeds, and 1 seed is
/// the seed 1.
void refuse_count(const std::string& text, const std::vector<std::uint64_t>& seeds) {
  if (seeds.size() > 1 || seeds.front() <= 1 || text.find("..") != std::string::npos) return;
  throw UsageError(fmt::format("{0} may mean {0} seeds or the seed {0}: write 1..{0} or {0}..{0}",
                               seeds.front()));
}

void read_seeds(const SweepRequest& request, study::Plan& plan) {
  const std::string text =
      request.seeds.empty() ? fmt::format("1..{}", kDefaultSeeds) : request.seeds;
  at_key(request, "seeds", "--seeds: ", [&] {
    plan.seeds = study::expand_seeds(text);
    refuse_count(text, plan.seeds);
  });
}

/// Removes axes of one value, which is set in all runs and needs no column.
Settings take_fixed(std::vector<Axis>& axes) {
  Settings fixed;
  for (const Axis& axis : axes)
    if (axis.values.size() == 1) fixed.emplace_back(axis.name, axis.values.front());
  std::erase_if(axes, [](const Axis& axis) { return axis.values.size() == 1; });
  return fixed;
}

/// All given run options as words, except --workers.
std::vector<std::string> option_words(const SweepRequest& request) {
  std::vector<std::string> words;
  for (const OptionBase* option : all_options()) {
    const std::string text = request.text(*option);
    if (option == &workers_option() || text.empty()) continue;
    words.push_back(option->takes_value() ? option->flag() + "=" + text : option->flag());
  }
  return words;
}

/// Takes "auto:METRIC" out of the run options, since the runs do not accept this value.
std::string take_warm_up_metric(SweepRequest& request, const Model& model) {
  std::string& text = request.texts[&warm_up_option()];
  if (!text.starts_with("auto")) return "";
  return at_key(request, "warm-up", "", [&] {
    constexpr std::string_view kPrefix = "auto:";
    if (!text.starts_with(kPrefix) || text.size() == kPrefix.size())
      throw UsageError(fmt::format(
          "--warm-up auto needs the metric that has to settle: auto:METRIC, not '{}'", text));
    const std::string metric = text.substr(kPrefix.size());
    find_metric(model, metric, warm_up_option().flag());
    text.clear();
    return metric;
  });
}

/// Call it before any list of runs is made.
void check_size(const study::Plan& plan) {
  if (plan.points.size() * plan.seeds.size() <= kMostRuns) return;
  throw UsageError(fmt::format(
      "{} points with {} seeds are more than the {} runs that a study can have; take fewer values "
      "or seeds",
      plan.points.size(), plan.seeds.size(), kMostRuns));
}

/// A study uses a machine best with one core per run; the runs share the cores that remain.
void share_cores(const SweepRequest& request, SweepPlan& sweep) {
  const std::uint64_t cores = HostFacts::now().usable_cores;
  const std::uint64_t runs =
      sweep.plan.points.size() *
      (sweep.plan.rules.empty() ? sweep.plan.seeds.size() : sweep.plan.most_seeds);
  const std::uint64_t jobs = std::min(runs, count_of("--jobs", request.jobs, cores, kMostJobs));
  const std::uint64_t share = std::max<std::uint64_t>(1, cores / jobs);
  sweep.maker.jobs = static_cast<std::size_t>(jobs);
  std::vector<std::string>& manner = sweep.maker.manner;
  std::string engine = request.engine;
  if (engine.empty() && share == 1 && request.text(workers_option()).empty()) engine = "sequential";
  if (!engine.empty()) manner.insert(manner.end(), {"--engine", engine});
  if (const std::string workers = request.text(workers_option()); !workers.empty())
    manner.push_back(workers_option().flag() + "=" + workers);
  else if (engine.empty() || find_engine(engine).honours(workers_option()))
    manner.push_back(fmt::format("{}={}", workers_option().flag(), share));
}

Json json_of(const Settings& settings) {
  Json json = Json::object();
  for (const auto& [name, value] : settings) json[name] = value;
  return json;
}

Json identity_of(const SweepRequest& request, const study::Plan& plan, const Settings& fixed) {
  Json points = Json::array(), rules = Json::array();
  for (const Settings& point : plan.points) points.push_back(json_of(point));
  for (const study::PrecisionRule& rule : plan.rules)
    rules.push_back(fmt::format("{}={}@{}", rule.measure, rule.share, rule.confidence));
  Json json = {{"model", request.model},
               {"settings", json_of(fixed)},
               {"options", option_words(request)},
               {"parameters", plan.parameters},
               {"points", std::move(points)},
               {"seeds", plan.seeds},
               {"until_precision", std::move(rules)}};
  json["max_seeds"] = plan.rules.empty() ? Json() : Json(plan.most_seeds);
  return json;
}

std::vector<std::string> parameters_of(const SweepRequest& request, const std::vector<Axis>& axes) {
  std::vector<std::string> names;
  if (!request.points.empty())
    for (const auto& setting : request.points.front()) names.push_back(setting.first);
  for (const Axis& axis : axes) names.push_back(axis.name);
  return names;
}

void check_compared(const SweepRequest& request, const study::Plan& plan) {
  const std::string& name = request.compared;
  const auto& names = plan.parameters;
  if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) return;
  if (names.empty())
    throw UsageError(
        fmt::format("--compare {0} needs several values of '{0}', such as --set {0}=1,2", name));
  throw UsageError(fmt::format("--compare names '{}', which does not vary{} (what varies: {})",
                               name, near_matches(name, names), fmt::join(names, ", ")));
}

}  // namespace

SweepPlan plan_sweep(const SweepRequest& given) {
  SweepRequest request = given;
  std::vector<Axis> axes = axes_of(request);
  RunRequest bare;
  bare.model = request.model;
  const ChosenModel chosen = at_key(request, "model", "", [&] { return choose_model(bare); });
  check_values(request, axes, *chosen.model);
  SweepPlan sweep;
  sweep.warm_up_metric = take_warm_up_metric(request, *chosen.model);
  check_options(request, *chosen.model);
  sweep.model_name = chosen.name;
  sweep.model_path = chosen.path;
  const Settings fixed = take_fixed(axes);
  sweep.plan.parameters = parameters_of(request, axes);
  sweep.plan.points = study::combine(request.points, axes);
  check_compared(request, sweep.plan);
  if (!request.confidence.empty())
    sweep.confidence = study::read_probability("--confidence", request.confidence);
  read_seeds(request, sweep.plan);
  read_rules(request, sweep.confidence, sweep.plan);
  check_size(sweep.plan);
  share_cores(request, sweep);
  sweep.identity = identity_of(request, sweep.plan, fixed);
  if (!sweep.warm_up_metric.empty()) sweep.identity["warm_up"] = "auto:" + sweep.warm_up_metric;
  sweep.maker.program_build = build_of_program();
  if (!chosen.path.empty()) sweep.maker.model_build = build_of_model(chosen.path);
  const auto options = option_words(request);
  sweep.maker.command = [model = request.model, fixed, options, points = sweep.plan.points](
                            std::size_t point, std::uint64_t seed) {
    std::vector<std::string> words = {"run", model};
    for (const Settings* settings : {&fixed, &points[point]})
      for (const auto& [name, value] : *settings)
        words.insert(words.end(), {"--set", name + "=" + value});
    words.push_back(fmt::format("--seed={}", seed));
    words.insert(words.end(), options.begin(), options.end());
    return words;
  };
  return sweep;
}

}  // namespace orrery::cli
