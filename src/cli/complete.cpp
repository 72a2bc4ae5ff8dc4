// SPDX-License-Identifier: Apache-2.0
#include "cli/complete.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "cli/candidates.h"
#include "cli/command_line.h"
#include "cli/help.h"
#include "run/engine.h"
#include "snapshot/folder.h"

namespace orrery::cli {
namespace {

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_min() > 0;
}

bool may_be_repeated(const CLI::Option& option) {
  return option.get_items_expected_max() > 1;
}

const OptionBase* declared_option(const std::string& flag) {
  for (const OptionBase* option : all_options())
    if (option->flag() == flag) return option;
  return nullptr;
}

/// The type of each operand, from a usage such as "DIR --out NEW [OPTIONS]", in which an option's
/// value is no operand.
std::vector<std::string> operand_types(std::string_view usage) {
  std::vector<std::string> types;
  std::istringstream words{std::string(usage)};
  for (std::string word, ignored; words >> word;) {
    if (word.starts_with("-")) {
      words >> ignored;
    } else if (word != "[OPTIONS]") {
      if (word.front() == '[') word = word.substr(1, word.size() - 2);
      types.push_back(word);
    }
  }
  return types;
}

/// The model of the run in a folder, from its last snapshot; empty: no snapshot.
std::string model_of_run(const std::string& folder) {
  try {
    const snapshot::Folder snapshots(folder);
    const std::vector<unsigned> numbers = snapshots.numbers();
    if (numbers.empty()) return "";
    const snapshot::Manifest last = snapshots.read_manifest(numbers.back());
    return last.model_path.empty() ? last.model : last.model_path;
  } catch (const std::exception&) {
    return "";
  }
}

/// The command line of one command, up to the word at the cursor.
class LineOfCommand {
 public:
  LineOfCommand(const CommandLine& commands, const CLI::App& command, const CommandText& text,
                const std::vector<std::string>& words)
      : command_(command),
        types_(operand_types(text.operands)),
        place_{.commands = commands, .model = "", .set = {}} {
    for (std::size_t i = 0; i + 1 < words.size(); ++i) read(words[i]);
    asks_help_ = words.size() > 1 && words[words.size() - 2] == "--help";
  }

  void complete(Candidates& candidates) {
    const std::string& word = candidates.current();
    const std::size_t equals = word.find('=');
    if (asks_help_) {
      for (const std::string& subject : help_subjects(command_)) candidates.add(subject);
    } else if (open_ != nullptr) {
      add_value(*open_, "", candidates);
    } else if (word.starts_with("--") && equals != std::string::npos) {
      const CLI::Option* const option = command_.get_option_no_throw(word.substr(0, equals));
      if (option != nullptr) add_value(*option, word.substr(0, equals + 1), candidates);
    } else if (word.starts_with("-")) {
      add_options(candidates);
    } else if (operands_ < types_.size()) {
      add_values(candidates, types_[operands_], "", place_);
    } else {
      if (sets_ || !word.empty()) add_values(candidates, "NAME=VALUE", "", place_);
      if (word.empty()) add_options(candidates);
    }
  }

 private:
  void read(const std::string& word) {
    if (open_ != nullptr) {
      take_value(*open_, word);
      open_ = nullptr;
    } else if (word.starts_with("-")) {
      const std::size_t equals = word.find('=');
      const CLI::Option* const option = command_.get_option_no_throw(word.substr(0, equals));
      if (option == nullptr) return;
      given_.push_back(option);
      if (!takes_value(*option)) return;
      if (equals == std::string::npos) {
        open_ = option;
      } else {
        take_value(*option, word.substr(equals + 1));
      }
    } else if (operands_ < types_.size() && !is_setting(word)) {
      take_operand(word);
    } else {
      take_setting(word);
    }
  }

  void take_operand(const std::string& word) {
    constexpr std::string_view kRepeated = "...";
    if (types_[operands_].starts_with("MODEL")) place_.model = word;
    if (!types_[operands_].ends_with(kRepeated)) ++operands_;
    place_.is_fork = command_.get_name() == "fork";
    if (place_.is_fork) place_.model = model_of_run(word);
  }

  /// The same rule as for the parsing of a line: a path has a slash before any "=".
  static bool is_setting(const std::string& word) {
    const std::size_t equals = word.find('=');
    return equals != std::string::npos && word.find('/') > equals;
  }

  void take_value(const CLI::Option& option, const std::string& value) {
    if (option.check_lname("engine")) engine_ = value;
    if (option.check_lname("set")) take_setting(value);
  }

  void take_setting(const std::string& word) {
    sets_ = true;
    place_.set.push_back(word.substr(0, word.find('=')));
  }

  void add_value(const CLI::Option& option, const std::string& prefix, Candidates& candidates) {
    place_.declared =
        option.get_lnames().empty() ? nullptr : declared_option("--" + option.get_lnames().front());
    add_values(candidates, option.get_type_name(), prefix, place_);
  }

  bool is_of_use(const CLI::Option& option, const std::string& flag) const {
    if (std::find(given_.begin(), given_.end(), &option) != given_.end() &&
        !may_be_repeated(option))
      return false;
    const OptionBase* const declared = declared_option(flag);
    if (declared == nullptr) return true;
    for (const EngineInfo& engine : engines())
      if (engine.name == engine_) return engine.honours(*declared);
    return true;
  }

  void add_options(Candidates& candidates) const {
    for (const CLI::Option* option : command_.get_options()) {
      for (const std::string& name : option->get_lnames()) {
        const std::string flag = "--" + name;
        if (is_of_use(*option, flag)) candidates.add(flag, option->get_description());
      }
    }
  }

  const CLI::App& command_;
  const std::vector<std::string> types_;  ///< of operands
  Place place_;
  std::size_t operands_ = 0;           ///< before the cursor
  const CLI::Option* open_ = nullptr;  ///< the option whose value is the next word
  std::vector<const CLI::Option*> given_;
  std::string engine_;
  bool sets_ = false;
  bool asks_help_ = false;  ///< the word before the cursor is --help
};

void complete_first(const CommandLine& commands, Candidates& candidates) {
  add_values(candidates, "COMMAND", "", Place{.commands = commands, .model = "", .set = {}});
  if (!candidates.current().starts_with("-")) return;
  for (const CLI::Option* option : commands.app().get_options())
    for (const std::string& name : option->get_lnames())
      candidates.add("--" + name, option->get_description());
}

}  // namespace

std::string completions(std::vector<std::string> words) {
  const CommandLine commands;
  if (!words.empty() && words.front() == "--") words.erase(words.begin());
  if (words.empty()) words.emplace_back();
  Candidates candidates(words.back());
  if (words.size() == 1) {
    complete_first(commands, candidates);
    return candidates.lines();
  }
  const std::string name = words.front();
  words.erase(words.begin());
  for (const CommandText* text : commands.texts()) {
    if (text->name != name) continue;
    LineOfCommand(commands, *commands.find(name), *text, words).complete(candidates);
    return candidates.lines();
  }
  candidates.add_files("*", "");
  return candidates.lines();
}

}  // namespace orrery::cli
