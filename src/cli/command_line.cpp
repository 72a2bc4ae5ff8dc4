// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>

#include "cli/external_commands.h"
#include "cli/help.h"
#include "cli/standard_output.h"
#include "core/model_registry.h"
#include "orrery/error.h"

namespace orrery::cli {
namespace {

void apply_text(CLI::App& app, const CommandText& text) {
  apply_help(app, text);
  app.allow_extras();  // left-over words are refused below, with near matches
}

/// Refuses words that belong to no option.
void refuse_extras(const CLI::App& command, const OptionTable& options, const std::string& name) {
  for (const std::string& word : command.remaining()) {
    if (word.starts_with("-")) {
      throw UsageError(fmt::format("'{0}' has no option '{1}'{2} ('{0} --help all' shows all)",
                                   name, word,
                                   near_matches(word.substr(0, word.find('=')), options.flags())));
    }
  }
  for (const std::string& word : command.remaining())
    throw UsageError(
        fmt::format("'{0}' does not know what to do with '{1}' ('{0} --help' helps)", name, word));
}

/// CLI11 would give "--out=" the next word as its value, but the user wrote "--out" and "". Words
/// behind "--" belong to another command.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words;
  bool are_ours = true;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--") are_ours = false;
    const bool empty_value =
        are_ours && word.starts_with("--") && word.find('=') == word.size() - 1;
    if (empty_value) word.pop_back();
    words.push_back(std::move(word));
    if (empty_value) words.emplace_back();
  }
  return words;
}

void parse(CLI::App& app, const std::vector<std::string>& words) {
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // the order of CLI11
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string text = error.what();
    const bool repeated = text.find("received") != std::string::npos;
    throw UsageError(text.substr(0, text.find(':')) +
                     (repeated ? " is given more than once" : " needs a value"));
  } catch (const CLI::ParseError& error) {
    if (dynamic_cast<const CLI::Success*>(&error) != nullptr) throw;
    throw UsageError(std::string(error.what()) + " ('orrery --help' helps)");
  }
}

}  // namespace

CommandLine::CommandLine()
    : app_(std::make_unique<CLI::App>(std::string(own_text().summary), "orrery")) {
  apply_text(*app_, own_text());
  app_->set_version_flag("--version", "orrery " ORRERY_VERSION);
  app_->require_subcommand(0, 1);
  for (std::unique_ptr<Command>& command : make_commands()) {
    const CommandText& text = command->text();
    CLI::App& app = *app_->add_subcommand(std::string(text.name), std::string(text.summary));
    apply_text(app, text);
    commands_.push_back({std::move(command), OptionTable(app)});
    commands_.back().command->declare(commands_.back().options);
  }
}

CommandLine::~CommandLine() = default;

CommandLine::Declared* CommandLine::declared(std::string_view name) {
  const auto found = std::find_if(commands_.begin(), commands_.end(), [&](const Declared& one) {
    return one.command->text().name == name;
  });
  return found == commands_.end() ? nullptr : &*found;
}

std::vector<const CommandText*> CommandLine::texts() const {
  std::vector<const CommandText*> texts;
  for (const Declared& one : commands_) texts.push_back(&one.command->text());
  return texts;
}

const CLI::App* CommandLine::find(std::string_view name) const {
  const auto found = std::as_const(*app_).get_subcommands(
      [&](const CLI::App* command) { return command->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

int CommandLine::execute(int argc, char** argv) {
  Invocation call{.argv = argv, .words = words_of(argc, argv), .other = {}};
  std::vector<std::string>& words = call.words;
  const auto is_help = [](const std::string& word) { return word == "--help" || word == "-h"; };
  Declared* const named = words.empty() ? nullptr : declared(words.front());
  try {
    if (named != nullptr && std::none_of(words.begin(), words.end(), is_help)) {
      std::vector<std::string> others =
          named->command->replaced(named->options, {words.begin() + 1, words.end()});
      words.resize(1);
      words.insert(words.end(), others.begin(), others.end());
    }
    std::vector<std::string> ours = words;
    const auto mark = std::find(words.begin(), words.end(), "--");
    if (named != nullptr && named->command->text().takes_command && mark != words.end()) {
      ours.assign(words.begin(), mark);
      call.other.assign(mark + 1, words.end());
    }
    parse(*app_, ours);
    return run_chosen(call);
  } catch (const CLI::CallForHelp&) {
    if (app_->get_subcommands().empty() && !app_->remaining().empty()) refuse_unknown_command();
    print_out("{}", help_text(*app_, words));
  } catch (const CLI::Success& version) {
    print_out("{}\n", version.what());
  }
  return kExitOk;
}

int CommandLine::run_chosen(const Invocation& call) {
  const auto chosen = app_->get_subcommands();
  if (!app_->remaining().empty()) refuse_unknown_command();
  if (chosen.empty()) {
    print_out("{}", app_->help());
    return kExitOk;
  }
  Declared& one = *declared(chosen.front()->get_name());
  refuse_extras(*chosen.front(), one.options, "orrery " + chosen.front()->get_name());
  one.options.refuse_missing_values();
  try {
    return one.command->run(one.options, call);
  } catch (const UsageError& error) {
    throw UsageError(one.options.located(error.what()));
  }
}

void CommandLine::refuse_unknown_command() const {
  const std::string word = app_->remaining().front();
  if (word.starts_with("-")) refuse_extras(*app_, OptionTable(*app_), "orrery");
  std::vector<std::string> names;
  for (const CommandText* text : texts()) names.emplace_back(text->name);
  for (const std::string& other : external_commands()) names.push_back(other);
  if (std::find(names.begin(), names.end(), word) != names.end())
    throw UsageError(fmt::format("write 'orrery {} --help'", word));
  throw UsageError(fmt::format("there is no command '{}'{} (commands: {})", word,
                               near_matches(word, names), fmt::join(names, ", ")));
}

}  // namespace orrery::cli
