// SPDX-License-Identifier: Apache-2.0
//
// orrery manual: the manual pages, made from the declared commands and options (command_line.h) and
// their texts (command.h). A page written by hand would be wrong after the next option; these
// pages cannot be.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cli/command_line.h"
#include "cli/external_commands.h"
#include "cli/roff.h"
#include "cli/standard_output.h"
#include "core/model_registry.h"
#include "orrery/error.h"

namespace orrery::cli {
namespace {

std::string page_name(std::string_view command) {
  return command.empty() ? "orrery" : fmt::format("orrery-{}", command);
}

std::string sentence(std::string text) {
  if (!text.ends_with(".")) text += ".";
  return text;
}

/// No date: a page is as old as its version, and two builds of a page are the same.
std::string head(std::string_view command, std::string_view summary) {
  if (summary.ends_with('.')) summary.remove_suffix(1);
  std::string title = page_name(command);
  std::transform(title.begin(), title.end(), title.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return fmt::format(".TH {} 1 \"\" \"Orrery {}\" \"Orrery\"\n.ad l\n{}{} \\- {}\n", roff(title),
                     ORRERY_VERSION, roff_section("NAME"), roff(page_name(command)), roff(summary));
}

/// Marks upper-case words as the user's values.
std::string typed(std::string_view words) {
  std::string text;
  for (std::size_t begin = 0; begin < words.size();) {
    const std::size_t end = std::min(words.find_first_of(" |", begin), words.size());
    const std::string_view word = words.substr(begin, end - begin);
    const bool is_literal = word.starts_with("-") || (!word.empty() && std::islower(word[0]));
    text += is_literal ? roff_bold(word) : roff_italic(word);
    if (end < words.size()) text += words[end];
    begin = end + 1;
  }
  return text;
}

std::string synopsis(const CommandText& text) {
  const std::string command = text.name.empty() ? "orrery" : fmt::format("orrery {}", text.name);
  return fmt::format("{}{} {}\n", roff_section("SYNOPSIS"), roff_bold(command),
                     typed(text.operands));
}

std::string names_of(const CLI::Option& option) {
  if (option.get_positional()) return roff_italic(option.get_name(true, false));
  std::string names;
  for (const std::string& name : option.get_snames()) names += roff_bold("-" + name) + ", ";
  for (const std::string& name : option.get_lnames())
    names += (names.empty() || names.ends_with(", ") ? "" : ", ") + roff_bold("--" + name);
  const std::string type = option.get_type_name();
  return option.get_items_expected_max() == 0 || type.empty() ? names : names + " " + typed(type);
}

std::string option_entry(const CLI::Option& option) {
  return roff_entry(names_of(option), sentence(option.get_description()));
}

/// Operands first, then the groups of options. The group that every command has gets no heading.
std::string options(const CLI::App& command) {
  std::string text = roff_section("OPTIONS");
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional()) text += option_entry(*option);
  for (const std::string& group : command.get_groups()) {
    if (group != "Options") text += roff_subsection(group);
    for (const CLI::Option* option : command.get_options())
      if (option->get_group() == group && !option->get_positional()) text += option_entry(*option);
  }
  return text;
}

std::string entries(std::string_view heading, std::span<const Entry> list, bool are_names) {
  if (list.empty()) return "";
  std::string text = roff_section(heading);
  for (const Entry& entry : list)
    text += roff_entry(are_names ? roff_italic(entry.name) : roff_bold(entry.name), entry.meaning);
  return text;
}

std::vector<std::string> all_commands(const CommandLine& commands) {
  std::vector<std::string> names{""};
  for (const CommandText* text : commands.texts()) names.emplace_back(text->name);
  for (const std::string& name : external_commands()) names.push_back(name);
  return names;
}

std::string see_also(const CommandLine& commands, std::string_view command) {
  std::string text = roff_section("SEE ALSO");
  std::string_view separator;
  for (const std::string& name : all_commands(commands)) {
    if (name == command) continue;
    text += fmt::format("{}{}(1)", separator, roff_bold(page_name(name)));
    separator = ",\n";
  }
  return text + "\n";
}

/// The first sentence of a help text that begins with its usage line.
std::string summary_in(const std::string& help) {
  const std::size_t begin = help.find("\n\n");
  if (begin == std::string::npos) return "";
  return help.substr(begin + 2, help.find_first_of(".\n", begin + 2) - begin - 2);
}

/// The page of a program beside this one, made from the program's own --help.
std::string page_of_external_command(const CommandLine& commands, const std::string& name) {
  const std::string help = help_of_external_command(name);
  const std::size_t end = help.find('\n');
  const std::string usage = help.substr(0, end), colon = ": ";
  return head(name, summary_in(help)) + roff_section("SYNOPSIS") +
         roff(usage.substr(usage.find(colon) + colon.size())) + "\n" + roff_section("DESCRIPTION") +
         roff_prose(help.substr(end)) + see_also(commands, name);
}

std::string commands_section(const CommandLine& commands) {
  std::string text = roff_section("COMMANDS");
  for (const CommandText* command : commands.texts())
    text += roff_entry(roff_bold(page_name(command->name)) + "(1)",
                       sentence(std::string(command->summary)));
  for (const std::string& name : external_commands())
    text += roff_entry(roff_bold(page_name(name)) + "(1)",
                       sentence(summary_in(help_of_external_command(name))));
  return text;
}

std::string page_of(const CommandLine& commands, const CLI::App& command, const CommandText& text) {
  const bool is_orrery = text.name.empty();
  std::string page = head(text.name, text.summary) + synopsis(text) + roff_section("DESCRIPTION");
  page += roff_prose(sentence(std::string(text.summary)));
  page += roff_prose(text.prose);
  if (is_orrery) page += commands_section(commands);
  page += options(command) + roff_section("EXAMPLES") + roff_lines(text.examples);
  page += roff_prose(text.more);
  page += entries("EXIT STATUS", exit_codes(), false) + entries("FILES", text.files, true) +
          entries("ENVIRONMENT", environment_texts(), false);
  return page + see_also(commands, text.name);
}

/// Empty `name`: the page of orrery itself.
std::string page(const CommandLine& commands, const std::string& name) {
  if (name.empty()) return page_of(commands, commands.app(), own_text());
  for (const CommandText* text : commands.texts())
    if (text->name == name) return page_of(commands, *commands.find(name), *text);
  const std::vector<std::string> names = all_commands(commands);
  if (std::find(names.begin(), names.end(), name) != names.end())
    return page_of_external_command(commands, name);
  throw UsageError(fmt::format("there is no command '{}'{}", name, near_matches(name, names)));
}

void write_pages(const CommandLine& commands, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (const std::string& name : all_commands(commands)) {
    const std::filesystem::path path = folder / (page_name(name) + ".1");
    std::ofstream file(path);
    file << page(commands, name);
    file.close();
    if (!file) throw UsageError(fmt::format("cannot write '{}'", path.string()));
  }
}

constexpr CommandText kManualText = {
    .name = "manual",
    .summary = "Print the manual page of a command, or write all of them into a folder",
    .operands = "[COMMAND] [OPTIONS]",
    .prose =
        R"(A page is made from the declared texts and options of a command, in the language of man(7). Without a
name the command prints the page of orrery itself.)",
    .examples = R"(orrery manual run | man -l -
orrery manual --into ~/.local/share/man/man1)"};

class ManualCommand final : public Command {
 public:
  ManualCommand() : Command(kManualText) {}

  void declare(OptionTable& options) override {
    options.operand("COMMAND", name_, "Name of a command (orrery itself)");
    options.value("--into", into_, "DIR",
                  "Write the pages of all commands into this folder, orrery-NAME.1 each");
  }

  int run(OptionTable&, const Invocation&) override {
    if (!into_.empty() && !name_.empty())
      throw UsageError("--into is for the pages of all commands; leave the name away");
    const CommandLine commands;
    if (into_.empty())
      print_out("{}", page(commands, name_));
    else
      write_pages(commands, into_);
    return kExitOk;
  }

 private:
  std::string name_, into_;
};

const CommandEntry kManualEntry(14, make_command<ManualCommand>);

}  // namespace
}  // namespace orrery::cli
