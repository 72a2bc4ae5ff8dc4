// SPDX-License-Identifier: Apache-2.0
#include "cli/run_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/config_file.h"
#include "core/model_registry.h"
#include "orrery/error.h"
#include "run/model_checks.h"

namespace orrery::cli {
namespace {

/// A setting is a name, "=", a value; a path to a model has a slash before any "=".
bool is_setting(const std::string& word) {
  const std::size_t equals = word.find('=');
  return equals != std::string::npos && equals > 0 && word.find('/') > equals;
}

void sort_words(RunArguments& arguments) {
  for (const std::string& word : arguments.words) {
    if (is_setting(word)) {
      arguments.sets.push_back(word);
    } else if (arguments.model.empty()) {
      arguments.model = word;
    } else {
      throw UsageError(fmt::format("two models are given, '{}' and '{}'; one is expected",
                                   arguments.model, word));
    }
  }
}

/// The name in "name=value".
std::string_view name_of(std::string_view set) {
  const std::size_t equals = set.find('=');
  if (equals == std::string_view::npos || equals == 0)
    throw UsageError(fmt::format("--set needs NAME=VALUE, not '{}'", set));
  return set.substr(0, equals);
}

void apply_sets(Model& model, const std::vector<std::string>& sets) {
  std::map<std::string_view, std::string_view> given;
  for (const std::string& set : sets) {
    const std::string_view name = name_of(set);
    const auto [earlier, is_new] = given.try_emplace(name, set);
    if (!is_new) {
      throw UsageError(fmt::format("parameter '{}' is set more than once: '{}' and '{}'", name,
                                   earlier->second, set));
    }
    set_parameter(model, name, std::string_view(set).substr(name.size() + 1));
  }
}

void add_option(CLI::App& command, const OptionBase& option, std::string& text) {
  const std::string group(option.declaration().group.heading);
  const std::string help = option.help();
  CLI::Option* added =
      option.takes_value()
          ? command.add_option(option.flag(), text, help + " (" + option.default_text() + ")")
                ->type_name(option.declaration().type)
          : command.add_flag(option.flag(), text, help);
  if (!group.empty()) added->group(group);
}

/// All that are declared, in the order of the help, but for those left out.
void add_declared_options(CLI::App& command, RunArguments& arguments,
                          const OptionBase* left_out = nullptr) {
  for (const OptionBase* option : all_options())
    if (option != left_out) add_option(command, *option, arguments.texts[option]);
}

void add_model(CLI::App& command, RunArguments& arguments) {
  command
      .add_option("MODEL", arguments.words,
                  "Name of a model ('orrery list') or path of a shared object that holds one")
      ->type_name("");
}

void add_set(CLI::App& command, RunArguments& arguments) {
  command.add_option("--set", arguments.sets, "Set a parameter of the model; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

/// Options of the command, not of the run.
void add_own_options(CLI::App& command, RunArguments& arguments) {
  add_set(command, arguments);
  command
      .add_option("--config", arguments.config, "Read options from a file (the command line wins)")
      ->type_name("FILE");
  command.add_option("--out", arguments.out, "Leave the results in this folder")->type_name("DIR");
  command.add_flag("--force", arguments.force,
                   "Replace the results of an earlier run in that folder");
  command.add_flag("--quiet", arguments.quiet, "Show no progress");
  command.add_flag("--json", arguments.json, "Print the report as JSON instead of tables");
}

/// An empty value means nothing to any option; a script with an unset variable gives one. Without
/// quotes it gives none, and the next option takes its place.
void refuse_missing_values(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& value : option->results()) {
      if (value.empty()) {
        throw UsageError(fmt::format("{} is given an empty value; give it another or leave it away",
                                     option->get_name()));
      }
      if (value.starts_with("--") && command.get_option_no_throw(value) != nullptr)
        throw UsageError(
            fmt::format("{} needs a value, and '{}' is an option", option->get_name(), value));
    }
  }
}

}  // namespace

void add_run_options(CLI::App& command, RunArguments& arguments) {
  add_model(command, arguments);
  command.add_option("--engine", arguments.engine, "Engine ('orrery list'; auto)")
      ->type_name("NAME");
  add_declared_options(command, arguments);
  add_own_options(command, arguments);
  command.add_flag("--verbose", arguments.verbose, "Show all figures of the engine");
}

void add_compare_options(CLI::App& command, CompareArguments& arguments) {
  add_model(command, arguments);
  command.add_option("--engines", arguments.engines, "Engines (all there are)")
      ->type_name("NAME,...");
  const OptionBase& workers = workers_option();
  command
      .add_option(workers.flag(), arguments.workers,
                  "Numbers of threads (" + workers.default_text() + ")")
      ->type_name("N,...");
  command.add_option("--repeats", arguments.repeats, "Runs of each (3)")->type_name("N");
  add_declared_options(command, arguments, &workers);
  add_own_options(command, arguments);
}

void add_describe_options(CLI::App& command, DescribeArguments& arguments) {
  command
      .add_option("NAME", arguments.words,
                  "Name of a model or an engine, or path of a shared object with a model")
      ->type_name("");
  command.add_flag("--measure", arguments.measure,
                   "Run the model and show the smallest delays of its sends beside what it "
                   "promises; the options below are for that");
  add_set(command, arguments);
  for (const OptionBase* option : all_options())
    if (option->declaration().universal) add_option(command, *option, arguments.texts[option]);
  command.add_flag("--quiet", arguments.quiet, "Show no progress");
  command.add_flag("--json", arguments.json, "Print what was measured as JSON");
}

std::string DescribeArguments::needing_a_run() const {
  for (const auto& [option, text] : texts)
    if (!text.empty()) return option->flag();
  if (!sets.empty()) return "--set";
  return json ? "--json" : "";
}

void complete_arguments(CLI::App& command, RunArguments& arguments) {
  refuse_missing_values(command);
  sort_words(arguments);
  if (!arguments.config.empty()) {
    apply_config_file(command, arguments);
    refuse_missing_values(command);
  }
  if (arguments.model.empty()) {
    throw UsageError(fmt::format(
        "which model? 'orrery {0} MODEL' needs one; 'orrery list' shows all", command.get_name()));
  }
}

ChosenModel choose_model(const RunArguments& arguments) {
  ChosenModel chosen;
  chosen.model = call_model("the model's constructor",
                            [&] { return make_model(arguments.model, &chosen.name); });
  if (chosen.name != arguments.model) chosen.path = arguments.model;
  try {
    apply_sets(*chosen.model, arguments.file_sets);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("config file '{}': {}", arguments.config, error.what()));
  }
  apply_sets(*chosen.model, arguments.sets);
  return chosen;
}

const EngineInfo& choose_engine(const RunArguments& arguments) {
  if (!arguments.engine.empty()) return find_engine(arguments.engine);
  for (const char* name : {"auto", "timewarp", "sequential"})
    for (const EngineInfo& info : engines())
      if (info.name == name) return info;
  throw UsageError("this build of orrery has no engine");
}

RunOptions read_options(const RunArguments& arguments, const Model& model, RunOptions options) {
  for (const OptionBase* option : all_options())
    if (const std::string text = arguments.text(*option); !text.empty())
      option->read(text, model.tick_seconds(), options);
  check_option_rules(options);
  return options;
}

std::vector<std::string> effective_sets(const RunArguments& arguments) {
  std::vector<std::string> sets = arguments.file_sets;
  std::erase_if(sets, [&](const std::string& set) {
    return std::any_of(arguments.sets.begin(), arguments.sets.end(),
                       [&](const std::string& wins) { return name_of(wins) == name_of(set); });
  });
  sets.insert(sets.end(), arguments.sets.begin(), arguments.sets.end());
  return sets;
}

}  // namespace orrery::cli
