// SPDX-License-Identifier: Apache-2.0
#include "cli/command_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

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
    {"ORRERY_DATA",
     "A folder where input files of models are looked for before those that are installed."},
    {"ORRERY_PARENT", "Number of a process; the command ends when that does."},
    {"NO_COLOR", "If it is set and not empty, nothing is coloured."},
    {"LC_ALL, LC_CTYPE, LANG", "Whether the terminal shows UTF-8."},
    {"OMPI_COMM_WORLD_SIZE, PMIX_RANK, PMI_RANK, PMI_SIZE",
     "Set by launchers of MPI: the process is a rank of a run over several."},
};

constexpr Entry kOwnFiles[] = {
    {"PREFIX/share/orrery/models",
     "Input files and scenarios of the models that ship; the command lies in PREFIX/bin."},
    {"PREFIX/lib/orrery",
     "Plugins for Open MPI and MPICH, the shims of 'orrery llf run', and the server of --live, "
     "where it was built with them."},
};

constexpr Entry kRunFiles[] = {
    {"DIR/report.json",
     "What was run, and what came out. It is written last: where it is, everything is."},
    {"DIR/results.sqlite", "The same with all tables, for queries."},
    {"DIR/TABLE.csv", "Each table of the model."},
    {"FILE", "With --trace: the trace, for ui.perfetto.dev and 'orrery trace'."},
    {"DIR/snapshots", "What 'orrery resume' and 'orrery fork' begin with; the last two are kept."},
};

constexpr Entry kCompareFiles[] = {
    {"DIR/compare.json", "The table and the reports of all runs."},
};

constexpr Entry kSweepFiles[] = {
    {"DIR/runs.csv", "A row for each run."},
    {"DIR/summary.csv", "Means and intervals, a row for each measure and point."},
    {"DIR/comparison.csv", "With --compare: the differences."},
    {"DIR/study.sqlite", "These three as tables."},
    {"DIR/MEASURE.svg", "A picture of each measure that is shown."},
    {"DIR/study.json", "All but the single runs. It is written last: where it is, everything is."},
    {"DIR/runs/point-N/seed-S", "What a run left."},
};

constexpr Entry kAdviseFiles[] = {
    {"FILE.toml", "With --machines: [[machine]], name, cores, speed, price_per_hour, memory_gib."},
    {"DIR/configurations.csv", "What was measured, a row for each configuration."},
    {"DIR/machines.csv", "With --machines: time and price, a row for each machine."},
    {"DIR/time-cost.svg", "Time against cost, with the efficient frontier."},
    {"DIR/advise.json", "All of it. It is written last: where it is, everything is."},
};

constexpr Entry kDirectorFiles[] = {
    {"FILE",
     "With --csv: time, thread, name, virtual time, consumed time and state, a line for each "
     "thread and tick. It is named FILE.part until it is complete."},
};

constexpr Entry kPageFiles[] = {
    {"DIR/report.html", "The page of a run or a study, where --out names no other."},
    {"comparison.html", "That of several, in the current folder."},
};

constexpr CommandText kTexts[] = {
    {.name = "",
     .summary = "Orrery runs discrete-event models on several engines, with equal results.",
     .operands = "COMMAND [OPTIONS]",
     .prose =
         R"(A model is logical processes and events between them, in C++; some come with the command, others lie
in shared objects of yours. Engines run it on one thread or many, and each run ends with a fingerprint
of all that it committed, which is the same on all engines.)",
     .examples =
         R"(orrery list                                   what there is
orrery describe phold                         what can be set
orrery run phold --until 20s --set lps=1000   one run, results on the terminal
orrery run traffic --out results/sioux        one run, results in a folder
orrery resume results/sioux                   an interrupted run, from its last snapshot
orrery compare phold --workers 1,2            engines side by side
orrery sweep pcs --set channels=10..50:10     a study: points, replications, intervals
orrery advise phold --until 1h                how to run it, and what it will take
orrery report results/sioux                   a page of a run, for the browser)",
     .files = kOwnFiles},
    {.name = "list",
     .summary = "Show the models and the engines",
     .operands = "[OPTIONS]",
     .prose =
         R"(What the command brings along; a model in a file of your own is known by its path.)",
     .examples = "orrery list\norrery list --json"},
    {.name = "describe",
     .summary = "Show a model's parameters, metrics, tables and lookahead, or an engine's options",
     .operands = "MODEL|ENGINE [OPTIONS]",
     .prose =
         R"(Without --measure nothing is run. With it the model is, to see what it promises of its delays and what
they are.)",
     .examples = R"(orrery describe traffic
orrery describe ./mm1.so
orrery describe timewarp
orrery describe pcs --measure --set cells=49 --until 1h)"},
    {.name = "run",
     .summary = "Run a model",
     .operands = "MODEL [OPTIONS]",
     .prose =
         R"(The results are shown, and with --out left in a folder. Ctrl-C ends the run at its next commit point
and reports what was committed; a second one ends it at once.)",
     .examples = R"(orrery run phold --until 20s --set lps=1000 remote=0.5
orrery run traffic --workers 4 --out results/sioux
orrery run phold --engine sequential --seed 7
orrery run ./mm1.so --set load=0.9
orrery run --config sioux.toml
orrery run traffic --live
orrery run phold --ranks 2 --engine conservative --set lookahead=0.1s
mpirun -n 4 orrery run traffic
orrery run pcs --warm-up 1h --batch-means power --stop-when 'power.precision < 0.01'
orrery run phold --trace run.pftrace --trace-to 2s
orrery run --again results/sioux --engine sequential)",
     .more = R"(A config file has the same options, for example:
  model = "traffic"
  until = "2h"
  out = "results/sioux"
  [set]
  unreachable = "drop")",
     .files = kRunFiles},
    {.name = "resume",
     .summary = "Go on with a run from its last snapshot",
     .operands = "DIR [OPTIONS]",
     .prose =
         R"(The run goes on in its own folder, with its own parameters, seed and horizon, on any engine and any
number of workers, and leaves the results that it would have had without the interruption.)",
     .examples = R"(orrery run traffic --out results/day --snapshot-every 1h
orrery resume results/day
orrery resume results/day --engine timewarp --workers 4
orrery snapshot info results/day)",
     .files = kRunFiles},
    {.name = "fork",
     .summary = "Begin a changed run at another's snapshot",
     .operands = "DIR --out NEW [OPTIONS]",
     .prose =
         R"(What-ifs from one warm-up: the other run's state is the beginning of this one, which may have another
seed from here on, and other values of parameters that the model reads when it needs them.)",
     .examples = R"(orrery run pcs --out results/warm --snapshot-at 1h --end-after-snapshot
orrery fork results/warm --out results/what-if --seed 7)",
     .files = kRunFiles},
    {.name = "snapshot",
     .summary = "Show a run's snapshots, or verify them",
     .operands = "info|verify DIR",
     .prose =
         R"(A snapshot is what 'orrery resume' and 'orrery fork' begin with; 'orrery run' takes them where one of
its options asks for it.)",
     .examples = R"(orrery snapshot info results/day      what is there
orrery snapshot verify results/day    whether it is whole; exit code 2 if it is not)"},
    {.name = "trace",
     .summary = "Show a trace, or where the traces of two runs part",
     .operands = "info|show|diff FILE... [OPTIONS]",
     .prose =
         R"(A trace is what 'orrery run --trace FILE' leaves, for ui.perfetto.dev. 'show' draws its committed
events as a sequence chart; 'diff' names the first one that is not the same in two runs, and exits
with 1 if there is one.)",
     .examples = R"(orrery run traffic --trace run.pftrace --trace-to 10min
orrery trace info run.pftrace                 what it holds
orrery trace show run.pftrace --lps 0..5      a sequence chart
orrery trace diff run.pftrace other.pftrace   the first committed event that differs)"},
    {.name = "llf",
     .summary = "Run a program over MPI with more ranks than cores; show groups of liborrery-llf",
     .operands = "run|status|clean [WORDS...] [OPTIONS]",
     .prose =
         R"(Ranks that wait by looking again and again take the cores from those that they wait for. 'run' puts a
library between the ranks of a command and MPI, without a change to the program: a rank that waits
sleeps, and no more run than there are cores. The exit code is the command's. 'status' and 'clean' are
for all simulators that use liborrery-llf: who is in a group and does what; and removing groups in
which nobody lives any more.)",
     .examples = R"(orrery llf run -- mpirun -n 8 ./simulator --its --options
orrery llf run --group mine --tokens 2 -- mpirun -n 8 --oversubscribe ./simulator
orrery llf status           the groups
orrery llf status mine      its federates
orrery llf clean)",
     .more =
         R"(Everything behind '--' is the command. The program is linked with Open MPI or MPICH, as a shared
library.)"},
    {.name = "compare",
     .summary = "Run a model on several engines and compare",
     .operands = "MODEL [OPTIONS]",
     .prose =
         R"(Every combination runs in a process of its own, in turn, as often as --repeats says; the table shows
medians, and the spread as (highest - lowest) / median. Speed-up is against the sequential engine.)",
     .examples = R"(orrery compare phold --workers 1,2
orrery compare traffic --engines sequential,timewarp --workers 1,2,4 --repeats 5 --out results/cmp)",
     .files = kCompareFiles},
    {.name = "sweep",
     .summary = "Run a study: many points and seeds, with tables and intervals",
     .operands = "MODEL|STUDY.toml [OPTIONS]",
     .prose =
         R"(Every combination of values runs with every seed, each in a process of its own, as many at once as
there are cores. Tables and intervals follow when all are over. With --out, Ctrl-C or a crash costs
only the runs that were under way: the same command goes on.)",
     .examples =
         R"(orrery sweep pcs --set cells=49 channels=10..50:10 --seeds 1..20 --out results/channels
orrery sweep wireless --set stations=10..50:10 access=csma,aloha --compare access
orrery sweep ./mm1.so --set load=0.5,0.8 --until-precision mean_stay=0.01@0.95
orrery sweep pcs --set channels=10,20 --warm-up auto:power --until 5h
orrery sweep channels.toml --jobs 2)",
     .more = R"(A study file has the same options, for example:
  model = "pcs"
  seeds = "1..20"
  out = "results/channels"
  [set]
  cells = 49
  channels = "10..50:10")",
     .files = kSweepFiles},
    {.name = "advise",
     .summary = "Say how and on which machine to run a model, from short runs of it",
     .operands = "MODEL [OPTIONS]",
     .prose =
         R"(The run goes on for a while, up to a warmed-up state, and from there engines, workers and ranks are
measured in turn. What an event costs and how many there will be give the time of the whole run, with an
interval, and with a table of machines its price. Ctrl-C ends it with what is known by then.)",
     .examples =
         R"(orrery advise phold --until 1h
orrery advise traffic --set network=grid grid=100 --until 10h --budget 2min --out results/advice
orrery advise phold --until 1h --machines machines.toml --time-limit 10min
orrery advise traffic --set profile=day period=24h --until 24h --pilot demand=0.01
orrery advise phold --until 1h --engines timewarp --try checkpoint=auto,copy
orrery advise --calibrate                     the speed of this machine, for the table)",
     .more = R"(A table of machines has for each, for example:
  [[machine]]
  name = "small"
  cores = 2
  speed = 1.0
  price_per_hour = 0.05)",
     .files = kAdviseFiles},
    {.name = "director",
     .summary = "Direct processes or virtual machines by least virtual time, or watch them",
     .operands = "[OPTIONS]",
     .prose =
         R"(For simulators that cannot be changed, and virtual machines (QEMU with debug-threads=on): of more
threads than cores, those run that have consumed least, by a tick of a millisecond, as real-time
threads. It needs the right to set real-time priorities (root, or CAP_SYS_NICE). However it ends, all
threads have their old scheduling back.)",
     .examples = R"(orrery director --pid 4711 --pid 4712
orrery director --cgroup machines --csv times.csv
orrery director --cgroup machines --watch --duration 10s    what the system does by itself
orrery director --pid 4711 --threads 'worker*' --tick 2ms --ceiling 50%)",
     .files = kDirectorFiles},
    {.name = "report",
     .summary = "Make a page of a run, of several side by side, or of a study",
     .operands = "DIR... [OPTIONS]",
     .prose =
         R"(One HTML file without any other: what was run, its results, metrics, tables and pictures, how the
engine behaved over time, and what limited the run. Several runs are compared with the first.)",
     .examples = R"(orrery report results/sioux
orrery report results/sioux --out sioux.html
orrery report results/csma results/aloha --out access.html
orrery report results/channels                the page of a study)",
     .files = kPageFiles},
    {.name = "manual",
     .summary = "Print the manual page of a command, or write all of them into a folder",
     .operands = "[COMMAND] [OPTIONS]",
     .prose =
         R"(A page is made from what the command declares, in the language of man(7). Without a name it is that of
orrery itself.)",
     .examples = R"(orrery manual run | man -l -
orrery manual --into ~/.local/share/man/man1)"},
    {.name = "completion",
     .summary = "Print what lets a shell complete the words of a command line",
     .operands = "bash|zsh",
     .prose =
         R"(Commands, options and their values, engines, models, the parameters of the model on the line (whose
file is loaded for that) and files can be completed. The shell asks the command each time, so it knows
what that knows. Packages bring this along; it is for a command that lies elsewhere.)",
     .examples = R"x(source <(orrery completion bash)
orrery completion zsh > ~/.zsh/functions/_orrery    a folder of $fpath, before compinit)x"},
};

/// The lines with two blanks before each.
std::string indented(std::string_view lines) {
  std::string text = "  ";
  for (const char c : lines) {
    text += c;
    if (c == '\n') text += "  ";
  }
  return text;
}

}  // namespace

std::string CommandText::examples_text() const {
  std::string text = fmt::format("Examples:\n{}", indented(examples));
  if (!more.empty()) text += fmt::format("\n\n{}", more);
  return text;
}

std::string CommandText::footer() const {
  std::string text = prose.empty() ? "" : fmt::format("{}\n\n", prose);
  text += examples_text();
  if (!name.empty()) return text;
  text += "\n\nExit codes:";
  for (const Entry& code : kExitCodes) text += fmt::format("\n  {:<9} {}", code.name, code.meaning);
  return text;
}

std::string CommandText::short_footer() const {
  const std::size_t end = examples.find('\n', examples.find('\n') + 1);
  return fmt::format("{}\n\nExamples:\n{}", prose, indented(examples.substr(0, end)));
}

std::span<const CommandText> command_texts() {
  return kTexts;
}

const CommandText& command_text(std::string_view name) {
  const auto found = std::find_if(std::begin(kTexts), std::end(kTexts),
                                  [&](const CommandText& text) { return text.name == name; });
  if (found == std::end(kTexts)) throw std::logic_error("a command without a text");
  return *found;
}

std::span<const Entry> exit_codes() {
  return kExitCodes;
}

std::span<const Entry> environment_texts() {
  return kEnvironment;
}

}  // namespace orrery::cli
