// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <string>

#include "cli/command_texts.h"
#include "cli/help.h"

namespace orrery::cli {
namespace {

void apply_text(CLI::App& app, const CommandText& text) {
  app.footer(text.footer());
  app.formatter(help_formatter(text));
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
