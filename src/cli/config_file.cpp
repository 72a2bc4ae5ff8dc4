// SPDX-License-Identifier: Apache-2.0
#include "cli/config_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/model_registry.h"
#include "orrery/error.h"

namespace orrery::cli {
namespace {

constexpr const char* kSetSection = "set";

std::vector<CLI::ConfigItem> read_items(const std::string& path) {
  std::ifstream stream(path);
  if (std::filesystem::is_directory(path)) errno = EISDIR;
  if (!stream || std::filesystem::is_directory(path))
    throw UsageError(fmt::format("cannot read config file '{}': {}", path, std::strerror(errno)));
  try {
    return CLI::ConfigBase().from_config(stream);
  } catch (const CLI::Error& error) {
    throw UsageError(fmt::format("config file '{}': {}", path, error.what()));
  }
}

std::vector<std::string> long_names(const CLI::App& command) {
  std::vector<std::string> names{"model"};
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames())
      if (name != "help" && name != "config") names.push_back(name);
  return names;
}

void set_option(CLI::App& command, const RunArguments& arguments, const CLI::ConfigItem& item) {
  const std::vector<std::string> names = long_names(command);
  if (std::find(names.begin(), names.end(), item.name) == names.end()) {
    throw UsageError(fmt::format("config file '{}': there is no option '{}'{} (options: {})",
                                 arguments.config, item.name, near_matches(item.name, names),
                                 fmt::join(names, ", ")));
  }
  CLI::Option* option = command.get_option("--" + item.name);
  if (option->count() > 0) return;  // the command line wins
  try {
    // "1,2,4" without quotes arrives as three words.
    option->add_result(fmt::format("{}", fmt::join(item.inputs, ",")));
    option->run_callback();
  } catch (const std::exception&) {
    throw UsageError(fmt::format("config file '{}': option '{}' cannot be '{}'", arguments.config,
                                 item.name, fmt::join(item.inputs, " ")));
  }
}

}  // namespace

void apply_config_file(CLI::App& command, RunArguments& arguments) {
  for (const CLI::ConfigItem& item : read_items(arguments.config)) {
    if (item.name == "++" || item.name == "--") continue;  // begin and end of a section
    const std::string value = fmt::format("{}", fmt::join(item.inputs, ","));
    if (item.parents == std::vector<std::string>{kSetSection}) {
      arguments.file_sets.push_back(item.name + "=" + value);
    } else if (!item.parents.empty()) {
      throw UsageError(fmt::format(
          "config file '{}': there is no section '{}'; parameters go into [set], options stand "
          "before it",
          arguments.config, fmt::join(item.parents, ".")));
    } else if (item.name == kSetSection) {
      arguments.file_sets.insert(arguments.file_sets.end(), item.inputs.begin(), item.inputs.end());
    } else if (item.name == "model") {
      if (arguments.model.empty()) arguments.model = value;
    } else {
      set_option(command, arguments, item);
    }
  }
}

}  // namespace orrery::cli
