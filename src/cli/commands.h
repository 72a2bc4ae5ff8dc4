// SPDX-License-Identifier: Apache-2.0
//
// The subcommands of `orrery` and their exit codes. A command throws UsageError or ModelFault to
// refuse something; main prints the error as one sentence and returns an exit code.
#pragma once

#include <string>

#include "cli/run_arguments.h"

namespace CLI {
class App;
}

namespace orrery::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitMismatch = 1;  ///< compare, --again or trace diff found a difference
inline constexpr int kExitUsage = 2;     ///< wrong options, parameters, input files, output folder
inline constexpr int kExitFault = 3;     ///< the model did something that a model must not do
inline constexpr int kExitSystem = 4;    ///< the system had no memory or no threads
inline constexpr int kExitInternal = 70;
inline constexpr int kExitSignal = 128;  ///< + the signal: 130 for Ctrl-C

int list_command(const ListArguments& arguments);
int describe_command(const DescribeArguments& arguments);  ///< of a model or an engine
int measure_command(const DescribeArguments& arguments);   ///< describe --measure
int run_command(const RunArguments& arguments);
int resume_command(const ResumeArguments& arguments);  ///< and fork
int snapshot_command(const SnapshotCommandArguments& arguments);
int trace_command(const TraceCommandArguments& arguments);
int llf_command(const LlfCommandArguments& arguments);
int director_command(const DirectorArguments& arguments);
int compare_command(const CompareArguments& arguments);
int sweep_command(const SweepArguments& arguments);
int advise_command(const AdviseArguments& arguments);
int page_command(const PageArguments& arguments);  ///< report
class CommandLine;
int manual_command(const CommandLine& commands, const ManualArguments& arguments);
int completion_command(const CompletionArguments& arguments);

}  // namespace orrery::cli
