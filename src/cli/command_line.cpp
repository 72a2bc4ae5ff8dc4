// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <memory>
#include <string>

#include "cli/command_texts.h"

namespace orrery::cli {
namespace {

/// CLI11's help with our usage line and without its dots behind options that may be repeated.
class HelpFormatter final : public CLI::Formatter {
 public:
  explicit HelpFormatter(const CommandText& text)
      : usage_(std::string(text.name) + (text.name.empty() ? "" : " ") +
               std::string(text.operands)) {
    column_width(26);
  }
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: orrery " + usage_ + "\n";
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

 private:
  std::string usage_;
};

void apply_text(CLI::App& app, const CommandText& text) {
  app.footer(text.footer());
  app.formatter(std::make_shared<HelpFormatter>(text));
  app.allow_extras();  // main refuses left-over words, with near matches
}

}  // namespace

CommandLine::CommandLine() : app(std::string(command_text("").summary), "orrery") {
  apply_text(app, command_text(""));
  app.set_version_flag("--version", "orrery " ORRERY_VERSION);
  app.require_subcommand(0, 1);
  add_list_options(*(list = add("list")), list_arguments);
  add_describe_options(*(describe = add("describe")), describe_arguments);
  add_run_options(*(run = add("run")), run_arguments);
  add_resume_options(*(resume = add("resume")), resume_arguments);
  add_resume_options(*(fork = add("fork")), fork_arguments);
  add_snapshot_command_options(*(snapshot = add("snapshot")), snapshot_arguments);
  add_trace_command_options(*(trace = add("trace")), trace_arguments);
  add_compare_options(*(compare = add("compare")), compare_arguments);
  add_sweep_options(*(sweep = add("sweep")), sweep_arguments);
  add_advise_options(*(advise = add("advise")), advise_arguments);
  add_director_options(*(director = add("director")), director_arguments);
  add_llf_command_options(*(llf = add("llf")), llf_arguments);
  add_page_options(*(report = add("report")), page_arguments);
  add_manual_options(*(manual = add("manual")), manual_arguments);
  add_completion_options(*(completion = add("completion")), completion_arguments);
}

CLI::App* CommandLine::add(const char* name) {
  const CommandText& text = command_text(name);
  CLI::App* const command = app.add_subcommand(name, std::string(text.summary));
  apply_text(*command, text);
  return command;
}

}  // namespace orrery::cli
