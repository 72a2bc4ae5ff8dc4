// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/study_file.h"
#include "core/model_registry.h"
#include "core/modules.h"
#include "observe/host.h"
#include "orrery/error.h"
#include "run/options/option_forms.h"
#include "run/results/observation.h"

namespace orrery::cli {
namespace {

using study::Axis;
using study::Settings;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t kDefaultSeeds = 10, kDefaultMostSeeds = 1000, kMostSeeds = 100'000;
constexpr std::uint64_t kMostJobs = 4096, kMostRuns = 1'000'000;

/// Does `work`. Adds to errors the place of `key` in the study file, or `otherwise` if the key is
/// not there.
template <class Work>
auto at_key(const SweepArguments& arguments, const std::string& key, const std::string& otherwise,
            Work&& work) {
  try {
    return work();
  } catch (const UsageError& error) {
    const std::string place = arguments.place_in_file(key);
    throw UsageError((place.empty() ? otherwise : place) + error.what());
  }
}

/// The axes of the study file, with values replaced by those of the command line, and the axes that
/// only the command line has.
std::vector<Axis> axes_of(SweepArguments& arguments) {
  std::vector<Axis> axes = arguments.file_axes;
  for (const auto& [name, values] : settings_of(arguments.sets)) {
    Axis axis{name, at_key(arguments, "", fmt::format("--set {}: ", name),
                           [&, text = &values] { return study::expand_values(*text); })};
    arguments.lines.erase("set." + name);
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
void check_values(const SweepArguments& arguments, const std::vector<Axis>& axes, Model& model) {
  for (const Axis& axis : axes)
    at_key(arguments, "set." + axis.name, "", [&] {
      for (const std::string& value : axis.values) set_parameter(model, axis.name, value);
    });
  for (std::size_t i = 0; i < arguments.points.size(); ++i) {
    for (const auto& [name, value] : arguments.points[i]) {
      try {
        set_parameter(model, name, value);
        if (std::any_of(axes.begin(), axes.end(),
                        [&, own = &name](const Axis& axis) { return axis.name == *own; }))
          throw UsageError("its values are set beside the points, too; leave one of both away");
      } catch (const UsageError& error) {
        throw UsageError(study_file_place(arguments.study_file, arguments.point_lines[i], name) +
                         error.what());
      }
    }
  }
}

void check_options(const SweepArguments& arguments, const Model& model) {
  RunOptions options;
  for (const OptionBase* option : all_options()) {
    const std::string text = arguments.text(*option);
    if (text.empty()) continue;
    at_key(arguments, option->name(), "",
           [&] { option->read(text, model.tick_seconds(), options); });
  }
  check_option_rules(options);
  if (!arguments.engine.empty())
    at_key(arguments, "engine", "", [&] { find_engine(arguments.engine); });
}

std::uint64_t count_of(const SweepArguments& arguments, const std::string& key,
                       const std::string& text, std::uint64_t otherwise, std::uint64_t most) {
  if (text.empty()) return otherwise;
  return at_key(arguments, key, "",
                [&] { return option_forms::read_count("--" + key, text, 1, most); });
}

void read_rules(const SweepArguments& arguments, double confidence, study::Plan& plan) {
  for (const std::string& text : arguments.precisions) {
    at_key(arguments, "until-precision", "",
           [&] { plan.rules.push_back(study::PrecisionRule::parse(text, confidence)); });
  }
  plan.most_seeds =
      count_of(arguments, "max-seeds", arguments.max_seeds, kDefaultMostSeeds, kMostSeeds);
  if (plan.rules.empty()) {
    if (!arguments.max_seeds.empty())
      throw UsageError(arguments.place_in_file("max-seeds") +
                       "--max-seeds means something only with --until-precision");
    return;
  }
  at_key(arguments, "seeds", "", [&] {
    if (plan.seeds.size() >= study::kLeastReplications) return;
    throw UsageError(fmt::format(
        "--until-precision begins with at least {} replications, and --seeds names {}; with fewer "
        "an interval that is narrow by chance ends the study",
        study::kLeastReplications, plan.seeds.size()));
  });
  if (plan.most_seeds < plan.seeds.size())
    throw UsageError(fmt::format("{}--max-seeds {} is less than the {} seeds of --seeds",
                                 arguments.place_in_file("max-seeds"), plan.most_seeds,
                                 plan.seeds.size()));
}

/// A single number may be meant as a count. 0 and 1 may not: no study has 0 seeds, and 1 seed is the
/// seed 1.
void refuse_count(const std::string& text, const std::vector<std::uint64_t>& seeds) {
  if (seeds.size() > 1 || seeds.front() <= 1 || text.find("..") != std::string::npos) return;
  throw UsageError(fmt::format("{0} may mean {0} seeds or the seed {0}: write 1..{0} or {0}..{0}",
                               seeds.front()));
}

void read_seeds(const SweepArguments& arguments, study::Plan& plan) {
  const std::string text =
      arguments.seeds.empty() ? fmt::format("1..{}", kDefaultSeeds) : arguments.seeds;
  at_key(arguments, "seeds", "--seeds: ", [&] {
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
std::vector<std::string> option_words(const SweepArguments& arguments) {
  std::vector<std::string> words;
  for (const OptionBase* option : all_options()) {
    const std::string text = arguments.text(*option);
    if (option == &workers_option() || text.empty()) continue;
    words.push_back(option->takes_value() ? option->flag() + "=" + text : option->flag());
  }
  return words;
}

/// Takes "auto:METRIC" out of the run options, since the runs do not accept this value.
std::string take_warm_up_metric(SweepArguments& arguments, const Model& model) {
  std::string& text = arguments.texts[&warm_up_option()];
  if (!text.starts_with("auto")) return "";
  return at_key(arguments, "warm-up", "", [&] {
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
void share_cores(const SweepArguments& arguments, SweepPlan& sweep) {
  const std::uint64_t cores = HostFacts::now().usable_cores;
  const std::uint64_t runs =
      sweep.plan.points.size() *
      (sweep.plan.rules.empty() ? sweep.plan.seeds.size() : sweep.plan.most_seeds);
  const std::uint64_t jobs =
      std::min(runs, count_of(arguments, "jobs", arguments.jobs, cores, kMostJobs));
  const std::uint64_t share = std::max<std::uint64_t>(1, cores / jobs);
  sweep.maker.jobs = static_cast<std::size_t>(jobs);
  std::vector<std::string>& manner = sweep.maker.manner;
  std::string engine = arguments.engine;
  if (engine.empty() && share == 1 && arguments.text(workers_option()).empty())
    engine = "sequential";
  if (!engine.empty()) manner.insert(manner.end(), {"--engine", engine});
  if (const std::string workers = arguments.text(workers_option()); !workers.empty())
    manner.push_back(workers_option().flag() + "=" + workers);
  else if (engine.empty() || find_engine(engine).honours(workers_option()))
    manner.push_back(fmt::format("{}={}", workers_option().flag(), share));
}

Json json_of(const Settings& settings) {
  Json json = Json::object();
  for (const auto& [name, value] : settings) json[name] = value;
  return json;
}

Json identity_of(const SweepArguments& arguments, const study::Plan& plan, const Settings& fixed) {
  Json points = Json::array(), rules = Json::array();
  for (const Settings& point : plan.points) points.push_back(json_of(point));
  for (const study::PrecisionRule& rule : plan.rules)
    rules.push_back(fmt::format("{}={}@{}", rule.measure, rule.share, rule.confidence));
  Json json = {{"model", arguments.model},           {"settings", json_of(fixed)},
               {"options", option_words(arguments)}, {"parameters", plan.parameters},
               {"points", std::move(points)},        {"seeds", plan.seeds},
               {"until_precision", std::move(rules)}};
  json["max_seeds"] = plan.rules.empty() ? Json() : Json(plan.most_seeds);
  return json;
}

std::vector<std::string> parameters_of(const SweepArguments& arguments,
                                       const std::vector<Axis>& axes) {
  std::vector<std::string> names;
  if (!arguments.points.empty())
    for (const auto& setting : arguments.points.front()) names.push_back(setting.first);
  for (const Axis& axis : axes) names.push_back(axis.name);
  return names;
}

void check_compared(const SweepArguments& arguments, const study::Plan& plan) {
  const std::string& name = arguments.compared;
  const auto& names = plan.parameters;
  if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) return;
  at_key(arguments, "compare", "", [&] {
    if (names.empty())
      throw UsageError(
          fmt::format("--compare {0} needs several values of '{0}', such as --set {0}=1,2", name));
    throw UsageError(fmt::format("--compare names '{}', which does not vary{} (what varies: {})",
                                 name, near_matches(name, names), fmt::join(names, ", ")));
  });
}

}  // namespace

SweepPlan plan_sweep(const SweepArguments& given) {
  SweepArguments arguments = given;
  std::vector<Axis> axes = axes_of(arguments);
  RunArguments bare;
  bare.model = arguments.model;
  const ChosenModel chosen = at_key(arguments, "model", "", [&] { return choose_model(bare); });
  check_values(arguments, axes, *chosen.model);
  SweepPlan sweep;
  sweep.warm_up_metric = take_warm_up_metric(arguments, *chosen.model);
  check_options(arguments, *chosen.model);
  sweep.model_name = chosen.name;
  sweep.model_path = chosen.path;
  const Settings fixed = take_fixed(axes);
  sweep.plan.parameters = parameters_of(arguments, axes);
  sweep.plan.points = study::combine(arguments.points, axes);
  check_compared(arguments, sweep.plan);
  if (!arguments.confidence.empty())
    sweep.confidence = at_key(arguments, "confidence", "", [&] {
      return study::read_probability("--confidence", arguments.confidence);
    });
  read_seeds(arguments, sweep.plan);
  read_rules(arguments, sweep.confidence, sweep.plan);
  check_size(sweep.plan);
  share_cores(arguments, sweep);
  sweep.identity = identity_of(arguments, sweep.plan, fixed);
  if (!sweep.warm_up_metric.empty()) sweep.identity["warm_up"] = "auto:" + sweep.warm_up_metric;
  sweep.maker.program_build = build_of_program();
  if (!chosen.path.empty()) sweep.maker.model_build = build_of_model(chosen.path);
  const auto options = option_words(arguments);
  sweep.maker.command = [model = arguments.model, fixed, options, points = sweep.plan.points](
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
