// SPDX-License-Identifier: Apache-2.0
//
// The subcommands with their options, declared once for everything that reads a command line,
// writes the manual or completes words.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/run_arguments.h"

namespace orrery::cli {

class CommandLine {
 public:
  CommandLine();

  CLI::App app;
  CLI::App *list, *describe, *run, *resume, *fork, *snapshot, *trace, *compare, *sweep, *advise,
      *director, *llf, *report, *manual, *completion;
  ListArguments list_arguments;
  DescribeArguments describe_arguments;
  RunArguments run_arguments;
  ResumeArguments resume_arguments, fork_arguments;
  SnapshotCommandArguments snapshot_arguments;
  TraceCommandArguments trace_arguments;
  CompareArguments compare_arguments;
  SweepArguments sweep_arguments;
  AdviseArguments advise_arguments;
  DirectorArguments director_arguments;
  LlfCommandArguments llf_arguments;
  PageArguments page_arguments;
  ManualArguments manual_arguments;
  CompletionArguments completion_arguments;

 private:
  CLI::App* add(const char* name);
};

}  // namespace orrery::cli
