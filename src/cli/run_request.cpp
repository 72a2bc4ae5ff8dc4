// SPDX-License-Identifier: Apache-2.0
#include "cli/run_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "cli/config_file.h"
#include "core/model_registry.h"
#include "orrery/error.h"
#include "run/options/model_checks.h"

namespace orrery::cli {
namespace {

/// A setting is a name, "=", and a value; a path to a model has a slash before any "=".
bool is_setting(const std::string& word) {
  const std::size_t equals = word.find('=');
  return equals != std::string::npos && equals > 0 && word.find('/') > equals;
}

/// Name and value in "name=value".
std::pair<std::string_view, std::string_view> split_set(std::string_view set) {
  const std::size_t equals = set.find('=');
  if (equals == std::string_view::npos || equals == 0)
    throw UsageError(fmt::format("--set needs NAME=VALUE, not '{}'", set));
  return {set.substr(0, equals), set.substr(equals + 1)};
}

}  // namespace

Settings settings_of(const std::vector<std::string>& sets) {
  Settings settings;
  std::map<std::string_view, std::string_view> given;
  for (const std::string& set : sets) {
    const auto [name, value] = split_set(set);
    const auto [earlier, is_new] = given.try_emplace(name, set);
    if (!is_new) {
      throw UsageError(fmt::format("parameter '{}' is set more than once: '{}' and '{}'", name,
                                   earlier->second, set));
    }
    settings.emplace_back(name, value);
  }
  return settings;
}

void declare_model(OptionTable& options, RunRequest& request) {
  options.operands("MODEL", request.words,
                   "Name of a model ('orrery list') or path of a shared object that holds one");
}

void declare_set(OptionTable& options, RunRequest& request) {
  options.values("--set", request.sets, "NAME=VALUE",
                 "Set a parameter of the model; may be repeated");
}

void declare_config(OptionTable& options, RunRequest& request) {
  options.value("--config", request.config, "FILE",
                "Read options from a file (the command line wins)");
}

void declare_output(OptionTable& options, OutputRequest& output) {
  options.value("--out", output.out, "DIR", "Leave the results in this folder");
  options.flag("--force", output.force, "Replace the results of an earlier run in that folder");
  options.flag("--quiet", output.quiet, "Show no progress");
  options.flag("--json", output.json, "Print the report as JSON instead of tables");
}

void declare_run_option(OptionTable& options, const OptionBase& option, RunRequest& request) {
  std::string& text = request.texts[&option];
  options.group(option.declaration().group.heading);
  if (option.takes_value())
    options.value(option.flag(), text, option.declaration().type,
                  option.help() + " (" + option.default_text() + ")");
  else
    options.flag(option.flag(), text, option.help());
  options.group("");
}

void declare_run_options(OptionTable& options, RunRequest& request, const OptionBase* left_out) {
  for (const OptionBase* option : all_options())
    if (option != left_out) declare_run_option(options, *option, request);
}

void sort_words(RunRequest& request) {
  for (const std::string& word : request.words) {
    if (is_setting(word)) {
      request.sets.push_back(word);
    } else if (request.model.empty()) {
      request.model = word;
    } else {
      throw UsageError(
          fmt::format("two models are given, '{}' and '{}'; one is expected", request.model, word));
    }
  }
}

void complete_request(OptionTable& options, RunRequest& request, std::string_view command,
                      const std::function<bool(const std::string& flag)>& ignored) {
  sort_words(request);
  if (!request.config.empty()) {
    apply_config_file(options, request, ignored);
    options.refuse_missing_values();
  }
  if (request.model.empty())
    throw UsageError(
        fmt::format("which model? 'orrery {0} MODEL' needs one; 'orrery list' shows all", command));
}

ChosenModel choose_model(const RunRequest& request) {
  ChosenModel chosen;
  chosen.model = at_key(request, "model", "", [&] {
    return call_model("the model's constructor",
                      [&] { return make_model(request.model, &chosen.name); });
  });
  call_model("tick_seconds()", [&] { return chosen.model->tick_seconds(); });
  if (chosen.name != request.model) chosen.path = request.model;
  const Settings of_file = at_key(request, "set", request.places.file + ": ",
                                  [&] { return settings_of(request.file_sets); });
  for (const auto& [name, value] : of_file)
    at_key(request, "set." + name, "",
           [&, set = &name, to = &value] { set_parameter(*chosen.model, *set, *to); });
  for (const auto& [name, value] : settings_of(request.sets))
    set_parameter(*chosen.model, name, value);
  return chosen;
}

RunOptions read_options(const RunRequest& request, const Model& model, RunOptions options) {
  for (const OptionBase* option : all_options())
    if (const std::string text = request.text(*option); !text.empty())
      option->read(text, model.tick_seconds(), options);
  check_option_rules(options);
  return options;
}

std::uint64_t read_seed(const RunRequest& request) {
  constexpr double kAnyTick = 1e-9;  // a seed does not depend on the tick
  RunOptions options;
  if (const std::string text = request.text(seed_option()); !text.empty())
    seed_option().read(text, kAnyTick, options);
  return options.seed;
}

std::vector<std::string> effective_sets(const RunRequest& request) {
  std::vector<std::string> sets = request.file_sets;
  std::erase_if(sets, [&](const std::string& set) {
    return std::any_of(request.sets.begin(), request.sets.end(), [&](const std::string& wins) {
      return split_set(wins).first == split_set(set).first;
    });
  });
  sets.insert(sets.end(), request.sets.begin(), request.sets.end());
  return sets;
}

}  // namespace orrery::cli
