// SPDX-License-Identifier: Apache-2.0
#include "cli/run_arguments.h"

#include <fmt/format.h>

#include "cli/config_file.h"
#include "core/model_registry.h"
#include "orrery/error.h"

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

void apply_sets(Model& model, const std::vector<std::string>& sets) {
  for (const std::string& set : sets) {
    const std::size_t equals = set.find('=');
    if (equals == std::string::npos || equals == 0)
      throw UsageError(fmt::format("--set needs NAME=VALUE, not '{}'", set));
    set_parameter(model, std::string_view(set).substr(0, equals),
                  std::string_view(set).substr(equals + 1));
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

/// Options of the command, not of the run.
void add_own_options(CLI::App& command, RunArguments& arguments) {
  command.add_option("--set", arguments.sets, "Set a parameter of the model; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--config", arguments.config, "Read options from a file (the command line wins)")
      ->type_name("FILE");
  command.add_option("--out", arguments.out, "Leave the results in this folder")->type_name("DIR");
  command.add_flag("--force", arguments.force,
                   "Replace the results of an earlier run in that folder");
  command.add_flag("--quiet", arguments.quiet, "Show no progress");
  command.add_flag("--json", arguments.json, "Print the report as JSON instead of tables");
}

}  // namespace

void add_run_options(CLI::App& command, RunArguments& arguments) {
  add_model(command, arguments);
  command.add_option("--engine", arguments.engine, "Engine ('orrery list'; timewarp)")
      ->type_name("NAME");
  add_declared_options(command, arguments);
  add_own_options(command, arguments);
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

void complete_arguments(CLI::App& command, RunArguments& arguments) {
  sort_words(arguments);
  if (!arguments.config.empty()) apply_config_file(command, arguments);
  if (arguments.model.empty()) {
    throw UsageError(fmt::format(
        "which model? 'orrery {0} MODEL' needs one; 'orrery list' shows all", command.get_name()));
  }
}

ChosenModel choose_model(const RunArguments& arguments) {
  ChosenModel chosen;
  chosen.model = make_model(arguments.model, &chosen.name);
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
  for (const char* name : {"timewarp", "sequential"})
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

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace orrery::cli
