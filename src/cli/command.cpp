// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <map>

namespace orrery::cli {
namespace {

constexpr Entry kExitCodes[] = {
    {"0", "done"},
    {"1", "fingerprints differ (compare, --again), or traces (trace diff)"},
    {"2", "wrong option, input or output"},
    {"3", "model fault"},
    {"4", "the system had no memory or threads or a rank died"},
    {"130, 143", "interrupted by Ctrl-C, by SIGTERM"},
    {"128 + n", "ended by signal n (139 a crash, 134 abort)"},
};

constexpr Entry kEnvironment[] = {
    {"ORRERY_DATA", "A folder with input files of models, searched before the installed files."},
    {"ORRERY_PARENT", "Number of a process; the command ends when that process ends."},
    {"NO_COLOR", "If this is set and not empty, the output has no colours."},
    {"LC_ALL, LC_CTYPE, LANG", "These decide whether the output has UTF-8 characters."},
    {"OMPI_COMM_WORLD_SIZE, PMIX_RANK, PMI_RANK, PMI_SIZE",
     "Set by launchers of MPI: the process is a rank of a run over several ranks."},
};

constexpr Entry kOwnFiles[] = {
    {"PREFIX/share/orrery/models",
     "Input files and scenarios of the shipped models; the command lies in PREFIX/bin."},
    {"PREFIX/lib/orrery",
     "Plugins for Open MPI and MPICH, the shims of 'orrery llf run', and the server of --live, "
     "if the command was built with them."},
};

constexpr CommandText kOwnText = {
    .name = "",
    .summary = "Orrery runs discrete-event models on several engines, with equal results.",
    .operands = "COMMAND [OPTIONS]",
    .prose =
        R"(A model is a C++ class: logical processes that send events to each other. Some models are part of the
command, others lie in your shared objects. Engines run a model on one thread or many. Each run ends
with a fingerprint of all committed events, which is the same on all engines.)",
    .examples =
        R"(orrery list                                   models and engines
orrery describe phold                         parameters of a model
orrery run phold --until 20s --set lps=1000   one run, results on the terminal
orrery run traffic --out results/sioux        one run, results in a folder
orrery resume results/sioux                   an interrupted run, from its last snapshot
orrery compare phold --workers 1,2            engines side by side
orrery sweep pcs --set channels=10..50:10     a study: points, replications, intervals
orrery advise phold --until 1h                how to run a model, and how long the run takes
orrery report results/sioux                   a page of a run, for the browser)",
    .files = kOwnFiles};

/// By their places. Filled by static initialisers, so it is function-local.
std::multimap<int, std::unique_ptr<Command> (*)()>& makers() {
  static std::multimap<int, std::unique_ptr<Command> (*)()> makers;
  return makers;
}

}  // namespace

CommandEntry::CommandEntry(int place, std::unique_ptr<Command> (*make)()) {
  makers().emplace(place, make);
}

std::vector<std::unique_ptr<Command>> make_commands() {
  std::vector<std::unique_ptr<Command>> commands;
  for (const auto& [place, make] : makers()) commands.push_back(make());
  return commands;
}

const CommandText& own_text() {
  return kOwnText;
}

std::span<const Entry> exit_codes() {
  return kExitCodes;
}

std::span<const Entry> environment_texts() {
  return kEnvironment;
}

}  // namespace orrery::cli
