// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>

#include "core/model_registry.h"
#include "orrery/error.h"

namespace orrery::cli {
namespace {

constexpr std::size_t kNameColumns = 26, kColumns = 100;
constexpr const char* kFirstGroup = "Options";  ///< CLI11's name for options without a group
constexpr const char* kExamples = "examples";
constexpr const char* kAll = "all";

/// The last word of the heading's first phrase, in lower case: "timewarp" of "Engine timewarp".
std::string subject_of(const std::string& heading) {
  std::string phrase = heading.substr(0, heading.find_first_of(",:("));
  phrase.erase(phrase.find_last_not_of(' ') + 1);
  std::string word = phrase.substr(phrase.find_last_of(' ') + 1);
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return word;
}

/// The groups that are subjects.
std::vector<std::string> groups_of(const CLI::App& command) {
  std::vector<std::string> groups = command.get_groups();
  std::erase(groups, kFirstGroup);
  return groups;
}

std::vector<const CLI::Option*> options_in(const CLI::App& command, const std::string& group) {
  return command.get_options([&](const CLI::Option* option) {
    return option->get_group() == group && !option->get_positional();
  });
}

/// The names of a group's options, cut at the end of the line.
std::string flags_line(const CLI::App& command, const std::string& group) {
  std::string line;
  for (const CLI::Option* option : options_in(command, group)) {
    const std::string flag = "--" + option->get_lnames().front();
    if (kNameColumns + line.size() + flag.size() + 6 > kColumns) return line + ", ...";
    line += (line.empty() ? "" : ", ") + flag;
  }
  return line;
}

/// The lines with two blanks before each.
std::string indented(std::string_view lines) {
  std::string text = "  ";
  for (const char c : lines) {
    text += c;
    if (c == '\n') text += "  ";
  }
  return text;
}

std::string examples_text(const CommandText& text) {
  std::string examples = fmt::format("Examples:\n{}", indented(text.examples));
  return text.more.empty() ? examples : fmt::format("{}\n\n{}", examples, text.more);
}

std::string footer(const CommandText& text) {
  std::string footer = fmt::format("{}\n\n{}", text.prose, examples_text(text));
  if (!text.name.empty()) return footer;
  footer += "\n\nExit codes:";
  for (const Entry& code : exit_codes())
    footer += fmt::format("\n  {:<9} {}", code.name, code.meaning);
  return footer;
}

std::string short_footer(const CommandText& text) {
  const std::size_t end = text.examples.find('\n', text.examples.find('\n') + 1);
  return fmt::format("{}\n\nExamples:\n{}", text.prose, indented(text.examples.substr(0, end)));
}

/// CLI11's help with our usage line and without its dots behind options that may be repeated.
class HelpFormatter final : public CLI::Formatter {
 public:
  explicit HelpFormatter(const CommandText& text) : text_(text) { column_width(kNameColumns); }

  std::string make_usage(const CLI::App*, std::string) const override {
    return fmt::format("Usage: orrery {}{}{}\n", text_.name, text_.name.empty() ? "" : " ",
                       text_.operands);
  }
  /// A flag that may be given a value, "--live{0}" where it is declared, is "--live[=PORT]" here.
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    const std::string name = CLI::Formatter::make_option_name(option, is_positional);
    const std::size_t brace = name.find('{');
    return brace == std::string::npos
               ? name
               : name.substr(0, brace) + "[=" + option->get_type_name() + "]";
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_items_expected_max() == 0) return "";
    const std::string type = option->get_type_name();
    return type.empty() ? "" : " " + type;
  }

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    if (groups_of(*app).empty()) return CLI::Formatter::make_help(app, name, mode);
    return make_description(app) + make_usage(app, name) + make_positionals(app) +
           group_text(*app, kFirstGroup) + subjects_text(*app) + "\n" + short_footer(text_) + "\n";
  }
  std::string all(const CLI::App& app) const {
    return CLI::Formatter::make_help(&app, "", CLI::AppFormatMode::Normal);
  }
  std::string group_text(const CLI::App& app, const std::string& group) const {
    return make_group(group, false, options_in(app, group));
  }
  std::string examples() const { return examples_text(text_) + "\n"; }

 private:
  std::string subjects_text(const CLI::App& app) const {
    const auto line = [](std::string_view subject, std::string_view meaning) {
      return fmt::format("  {:<{}}{}\n", subject, kNameColumns - 2, meaning);
    };
    const std::vector<std::string> groups = groups_of(app);
    std::string text = fmt::format("\nMore options, by subject, such as 'orrery {} --help {}':\n",
                                   text_.name, subject_of(groups.back()));
    for (const std::string& group : groups) text += line(subject_of(group), flags_line(app, group));
    return text + line(kExamples, "More examples") +
           line(kAll, fmt::format("All options at once ('orrery manual {}' prints a page of them)",
                                  text_.name));
  }

  const CommandText& text_;
};

/// The word behind --help, which stands behind the command; empty: none.
std::string asked_subject(const std::vector<std::string>& words) {
  for (std::size_t i = 1; i + 1 < words.size(); ++i)
    if (words[i] == "--help" || words[i] == "-h")
      return words[i + 1].starts_with("-") ? "" : words[i + 1];
  return "";
}

}  // namespace

void apply_help(CLI::App& app, const CommandText& text) {
  app.footer(footer(text));
  app.formatter(std::make_shared<HelpFormatter>(text));
}

std::vector<std::string> help_subjects(const CLI::App& command) {
  std::vector<std::string> subjects;
  for (const std::string& group : groups_of(command)) subjects.push_back(subject_of(group));
  subjects.insert(subjects.end(), {kExamples, kAll});
  return subjects;
}

std::string help_text(const CLI::App& app, const std::vector<std::string>& words) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const std::string subject = asked_subject(words);
  if (chosen.empty() || subject.empty()) return app.help();
  const CLI::App& command = *chosen.front();
  const auto& formatter = dynamic_cast<const HelpFormatter&>(*command.get_formatter());
  if (subject == kExamples) return formatter.examples();
  if (subject == kAll) return formatter.all(command);
  for (const std::string& group : groups_of(command))
    if (subject_of(group) == subject) return formatter.group_text(command, group).substr(1);
  const std::vector<std::string> subjects = help_subjects(command);
  throw UsageError(fmt::format("the help of 'orrery {}' has no subject '{}'{} (subjects: {})",
                               command.get_name(), subject, near_matches(subject, subjects),
                               fmt::join(subjects, ", ")));
}

}  // namespace orrery::cli
