// SPDX-License-Identifier: Apache-2.0
#include "cli/config_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <map>
#include <sstream>
#include <string_view>

#include "core/model_registry.h"
#include "core/text.h"
#include "orrery/error.h"
#include "orrery/input_file.h"

namespace orrery::cli {
namespace {

constexpr const char* kSetSection = "set";

[[noreturn]] void refuse(const std::string& path, std::size_t line, const std::string& what) {
  throw UsageError(fmt::format("config file '{}', line {}: {}", path, line, what));
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\f\v";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// CLI11 joins the values of a key that is given twice; what is meant is anybody's guess. So is
/// what a file without text says. Both are refused here, on the lines.
class LineCheck {
 public:
  explicit LineCheck(const std::string& path) : path_(path) {}

  void add(std::string_view line) {
    ++number_;
    for (const char c : line) {
      if (is_binary(c)) {
        refuse(path_, number_,
               fmt::format("a line of text is expected, found the byte 0x{:02x}",
                           static_cast<unsigned char>(c)));
      }
    }
    line = trimmed(line);
    if (within_list_) {
      within_list_ = !line.ends_with(']');
    } else if (!line.empty() && line.front() != '#' && line.front() != ';') {
      add_entry(line);
    }
  }
  bool found_anything() const { return !lines_.empty() || !section_.empty(); }

 private:
  void add_entry(std::string_view line) {
    if (line.front() == '[' && line.back() == ']') {
      section_ = std::string(line);
      return;
    }
    const std::size_t equals = line.find('=');
    const std::string key(trimmed(line.substr(0, equals)));
    const auto [earlier, is_new] = lines_.try_emplace({section_, key}, number_);
    if (!is_new)
      refuse(path_, number_,
             fmt::format("'{}' was given in line {} already", key, earlier->second));
    if (equals == std::string_view::npos) return;
    const std::string_view value = trimmed(line.substr(equals + 1));
    within_list_ = value.starts_with('[') && value.find(']') == std::string_view::npos;
  }

  const std::string& path_;
  std::size_t number_ = 0;
  std::string section_;
  std::map<std::pair<std::string, std::string>, std::size_t> lines_;
  bool within_list_ = false;
};

std::vector<CLI::ConfigItem> read_items(const std::string& path) {
  const std::string text = read_input_file(path, "config file");
  LineCheck check(path);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) check.add(line);
  if (!check.found_anything())
    throw UsageError(fmt::format("config file '{}' holds no option", path));
  std::istringstream stream(text);
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
      if (name != "help" && name != "config" && name != "again") names.push_back(name);
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
  if (arguments.repeated && !Again::repeats("--" + item.name)) return;
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
  const Listening listening(arguments.inputs);
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
