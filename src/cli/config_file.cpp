// SPDX-License-Identifier: Apache-2.0
#include "cli/config_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>

#include "cli/config_syntax.h"
#include "core/model_registry.h"
#include "orrery/error.h"
#include "orrery/input_file.h"

namespace orrery::cli {
namespace {

std::vector<std::string> long_names(const CLI::App& command) {
  std::vector<std::string> names{"model"};
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames())
      if (name != "help" && name != "config" && name != "again") names.push_back(name);
  return names;
}

void set_option(CLI::App& command, const RunArguments& arguments, const ConfigEntry& entry) {
  const std::vector<std::string> names = long_names(command);
  if (std::find(names.begin(), names.end(), entry.key) == names.end())
    refuse_config(arguments.config, entry.line,
                  fmt::format("there is no option '{}'{} (options: {})", entry.key,
                              near_matches(entry.key, names), fmt::join(names, ", ")));
  CLI::Option* option = command.get_option("--" + entry.key);
  if (option->count() > 0) return;  // the command line wins
  if (arguments.repeated && !Again::repeats("--" + entry.key)) return;
  try {
    // "1,2,4" without quotes arrives as three words.
    option->add_result(fmt::format("{}", fmt::join(entry.values, ",")));
    option->run_callback();
  } catch (const std::exception&) {
    refuse_config(
        arguments.config, entry.line,
        fmt::format("option '{}' cannot be '{}'", entry.key, fmt::join(entry.values, " ")));
  }
}

}  // namespace

void apply_config_file(CLI::App& command, RunArguments& arguments) {
  const Listening listening(arguments.inputs);
  const std::string text = read_input_file(arguments.config, "config file");
  for (const ConfigEntry& entry : read_config(arguments.config, text)) {
    const std::string value = fmt::format("{}", fmt::join(entry.values, ","));
    if (entry.is_parameter) {
      arguments.file_sets.push_back(entry.key + "=" + value);
    } else if (entry.key == "set") {
      arguments.file_sets.insert(arguments.file_sets.end(), entry.values.begin(),
                                 entry.values.end());
    } else if (entry.key == "model") {
      if (arguments.model.empty()) arguments.model = value;
    } else {
      set_option(command, arguments, entry);
    }
  }
}

}  // namespace orrery::cli
