// SPDX-License-Identifier: Apache-2.0
//
// The orrery command: declares the subcommands, and turns whatever goes wrong into one sentence on
// standard error and an exit code.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/rank_session.h"
#include "cli/standard_output.h"
#include "core/model_registry.h"
#include "core/text.h"
#include "memory/region.h"
#include "orrery/error.h"
#include "run/crash_guard.h"

namespace orrery::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  orrery list                                   what there is
  orrery describe phold                         what can be set
  orrery run phold --until 20s --set lps=1000   one run, results on the terminal
  orrery run traffic --out results/sioux        one run, results in a folder
  orrery resume results/sioux                   an interrupted run, from its last snapshot
  orrery compare phold --workers 1,2            engines side by side
  orrery sweep pcs --set channels=10..50:10     a study: points, replications, intervals

Exit codes: 0 done, 1 fingerprints differ (compare, --again), 2 wrong option, input or output,
3 model fault, 4 the system had no memory or threads or a rank died, 130 interrupted by Ctrl-C,
128 + n ended by signal n (139 a crash, 134 abort).)";

constexpr const char* kRunExamples = R"(Examples:
  orrery run phold
  orrery run phold --engine sequential --until 20s --seed 7 --set lps=1000 remote=0.5
  orrery run traffic --workers 4 --out results/sioux --force
  orrery run ./mm1.so --set load=0.9
  orrery run --config sioux.toml
  orrery run phold --ranks 2 --engine conservative --set lookahead=0.1s
  mpirun -n 4 orrery run traffic
  orrery run --again results/sioux --engine sequential

A config file has the same options, for example:
  model = "traffic"
  until = "2h"
  out = "results/sioux"
  [set]
  unreachable = "drop")";

constexpr const char* kResumeExamples =
    R"(The run goes on in its own folder, with its own parameters, seed and horizon, on any engine and any
number of workers, and leaves the results that it would have had without the interruption.

Examples:
  orrery run traffic --out results/day --snapshot-every 1h
  orrery resume results/day
  orrery resume results/day --engine timewarp --workers 4
  orrery snapshot info results/day)";

constexpr const char* kForkExamples =
    R"(What-ifs from one warm-up: the other run's state is the beginning of this one, which may have another
seed from here on, and other values of parameters that the model reads when it needs them.

Examples:
  orrery run pcs --out results/warm --snapshot-at 1h --end-after-snapshot
  orrery fork results/warm --out results/what-if --seed 7)";

constexpr const char* kSnapshotExamples = R"(Examples:
  orrery snapshot info results/day      what is there
  orrery snapshot verify results/day    whether it is whole; exit code 2 if it is not)";

constexpr const char* kCompareExamples =
    R"(Every combination runs in a process of its own, in turn, as often as --repeats says; the table shows
medians, and the spread as (highest - lowest) / median. Speed-up is against the sequential engine.

Examples:
  orrery compare phold --workers 1,2
  orrery compare traffic --engines sequential,timewarp --workers 1,2,4 --repeats 5 --out results/cmp)";

constexpr const char* kSweepExamples =
    R"(Every combination of values runs with every seed, each in a process of its own, as many at once as
there are cores. Tables and intervals follow when all are over. With --out, Ctrl-C or a crash costs
only the runs that were under way: the same command goes on.

Examples:
  orrery sweep pcs --set cells=49 channels=10..50:10 --seeds 1..20 --out results/channels
  orrery sweep wireless --set stations=10..50:10 access=csma,aloha --compare access
  orrery sweep ./mm1.so --set load=0.5,0.8 --until-precision mean_stay=0.01@0.95
  orrery sweep channels.toml --jobs 2

A study file has the same options, for example:
  model = "pcs"
  seeds = "1..20"
  out = "results/channels"
  [set]
  cells = 49
  channels = "10..50:10")";

constexpr const char* kDescribeExamples = R"(Examples:
  orrery describe traffic
  orrery describe ./mm1.so
  orrery describe timewarp
  orrery describe pcs --measure --set cells=49 --until 1h)";

/// CLI11's help with our usage line and without its dots behind options that may be repeated.
class HelpFormatter final : public CLI::Formatter {
 public:
  explicit HelpFormatter(std::string usage) : usage_(std::move(usage)) { column_width(26); }
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: orrery " + usage_ + "\n";
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string type = option->get_type_name();
    return type.empty() ? "" : " " + type;
  }

 private:
  std::string usage_;
};

struct Commands {
  CLI::App app{"Orrery runs discrete-event models on several engines, with equal results.",
               "orrery"};
  CLI::App *list, *describe, *run, *resume, *fork, *snapshot, *compare, *sweep;
  ListArguments list_arguments;
  DescribeArguments describe_arguments;
  RunArguments run_arguments;
  ResumeArguments resume_arguments, fork_arguments;
  SnapshotCommandArguments snapshot_arguments;
  CompareArguments compare_arguments;
  SweepArguments sweep_arguments;

  Commands() {
    app.footer(kExamples);
    app.set_version_flag("--version", "orrery " ORRERY_VERSION);
    app.require_subcommand(0, 1);
    app.allow_extras();  // left-over words are refused by us, with near matches
    app.formatter(std::make_shared<HelpFormatter>("COMMAND [OPTIONS]"));
    list = add("list", "Show the models and the engines", "",
               "Examples:\n  orrery list\n  orrery list --json");
    add_list_options(*list, list_arguments);
    describe =
        add("describe",
            "Show a model's parameters, metrics, tables and lookahead, or an engine's options",
            " NAME [OPTIONS]", kDescribeExamples);
    add_describe_options(*describe, describe_arguments);
    run = add("run", "Run a model", " MODEL [OPTIONS]", kRunExamples);
    add_run_options(*run, run_arguments);
    resume =
        add("resume", "Go on with a run from its last snapshot", " DIR [OPTIONS]", kResumeExamples);
    add_resume_options(*resume, resume_arguments);
    fork = add("fork", "Begin a changed run at another's snapshot", " DIR --out NEW [OPTIONS]",
               kForkExamples);
    add_resume_options(*fork, fork_arguments);
    snapshot = add("snapshot", "Show a run's snapshots, or verify them", " info|verify DIR",
                   kSnapshotExamples);
    add_snapshot_command_options(*snapshot, snapshot_arguments);
    compare = add("compare", "Run a model on several engines and compare", " MODEL [OPTIONS]",
                  kCompareExamples);
    add_compare_options(*compare, compare_arguments);
    sweep = add("sweep", "Run a study: many points and seeds, with tables and intervals",
                " MODEL|STUDY.toml [OPTIONS]", kSweepExamples);
    add_sweep_options(*sweep, sweep_arguments);
  }

 private:
  /// `operands`: what follows the name in the usage.
  CLI::App* add(const std::string& name, const char* summary, const char* operands,
                const char* examples) {
    CLI::App* const command = app.add_subcommand(name, summary);
    command->footer(examples);
    command->formatter(std::make_shared<HelpFormatter>(name + operands));
    command->allow_extras();
    return command;
  }
};

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  return flags;
}

/// Words that no option took.
void refuse_extras(const CLI::App& command, const std::string& name) {
  for (const std::string& word : command.remaining()) {
    if (word.starts_with("-")) {
      throw UsageError(
          fmt::format("'{0}' has no option '{1}'{2} ('{0} --help' shows all)", name, word,
                      near_matches(word.substr(0, word.find('=')), flags_of(command))));
    }
  }
  for (const std::string& word : command.remaining())
    throw UsageError(
        fmt::format("'{0}' does not know what to do with '{1}' ('{0} --help' helps)", name, word));
}

/// Whoever starts the command and wants to have it ended with himself, however that happens, names
/// his process in ORRERY_PARENT. It is nothing for processes that the command starts.
void end_with_parent() {
  const char* const text = std::getenv("ORRERY_PARENT");
  if (text == nullptr) return;
  const auto parent = static_cast<pid_t>(std::strtol(text, nullptr, 10));
  unsetenv("ORRERY_PARENT");
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  // It may be gone already.
  if (getppid() != parent && kill(parent, 0) != 0 && errno == ESRCH) _exit(kExitSignal + SIGTERM);
}

/// "orrery NAME ..." is "orrery-NAME ..." where that lies beside this program: what belongs to one
/// model need not be known here.
void try_beside(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::error_code error;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path other =
      own.parent_path() / ("orrery-" + std::filesystem::path(argv[1]).filename().string());
  if (error || access(other.c_str(), X_OK) != 0) return;
  std::vector<char*> words(argv + 1, argv + argc);
  words.push_back(nullptr);
  execv(other.c_str(), words.data());
}

void refuse_unknown_command(const Commands& commands) {
  const auto words = commands.app.remaining();
  if (words.empty() || words.front().starts_with("-")) return refuse_extras(commands.app, "orrery");
  std::vector<std::string> names;
  for (const CLI::App* command : commands.app.get_subcommands(nullptr))
    names.push_back(command->get_name());
  throw UsageError(fmt::format("there is no command '{}'{} (commands: {})", words.front(),
                               near_matches(words.front(), names), fmt::join(names, ", ")));
}

int dispatch(Commands& commands) {
  const auto chosen = commands.app.get_subcommands();
  if (chosen.empty() || !commands.app.remaining().empty()) refuse_unknown_command(commands);
  if (chosen.empty()) {
    print_out("{}", commands.app.help());
    return kExitOk;
  }
  CLI::App* command = chosen.front();
  refuse_extras(*command, "orrery " + command->get_name());
  if (command == commands.list) return list_command(commands.list_arguments);
  if (command == commands.describe) {
    if (commands.describe_arguments.words.empty())
      throw UsageError(
          "which model or engine? 'orrery describe NAME' needs one; 'orrery list' shows all");
    refuse_mpi_launcher("orrery describe");
    complete_arguments(*command, commands.describe_arguments);
    return describe_command(commands.describe_arguments);
  }
  if (command == commands.run) {
    complete_arguments(*command, commands.run_arguments);
    return run_command(commands.run_arguments);
  }
  if (command == commands.resume || command == commands.fork) {
    ResumeArguments& arguments =
        command == commands.fork ? commands.fork_arguments : commands.resume_arguments;
    complete_arguments(*command, arguments);
    return resume_command(arguments);
  }
  if (command == commands.snapshot) return snapshot_command(commands.snapshot_arguments);
  if (command == commands.sweep) {
    refuse_mpi_launcher("orrery sweep");
    complete_arguments(*command, commands.sweep_arguments);
    return sweep_command(commands.sweep_arguments);
  }
  refuse_mpi_launcher("orrery compare");
  complete_arguments(*command, commands.compare_arguments);
  return compare_command(commands.compare_arguments);
}

int refuse(int code, const std::string& sentence) {
  std::fflush(stdout);
  fmt::print(stderr, "orrery: {}\n", printable(sentence));
  return code;
}

int show_help(const CLI::App& app, const CLI::Success& help) {
  try {
    std::ostringstream text;
    const int code = app.exit(help, text, text);
    write_out(text.str());
    flush_out();
    return code;
  } catch (const UsageError& error) {
    return refuse(kExitUsage, error.what());
  }
}

/// CLI11 would give "--out=" the next word as its value. "--out" and "" mean what was written.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words;
  for (int i = 0; i < argc; ++i) {
    std::string word = argv[i];
    const bool empty_value = word.starts_with("--") && word.find('=') == word.size() - 1;
    if (empty_value) word.pop_back();
    words.push_back(std::move(word));
    if (empty_value) words.emplace_back();
  }
  return words;
}

void parse(CLI::App& app, const std::vector<std::string>& words) {
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  app.parse(static_cast<int>(pointers.size()), pointers.data());
}

void read(Commands& commands, const std::vector<std::string>& words, char** argv) {
  for (RunArguments* run :
       {&commands.run_arguments, static_cast<RunArguments*>(&commands.resume_arguments),
        static_cast<RunArguments*>(&commands.fork_arguments)}) {
    run->command_line = argv;
    run->command.assign(words.begin() + 1, words.end());
  }
  parse(commands.app, words);
}

/// As if the command of the run that --again names had been written.
void read_again(std::optional<Commands>& commands, std::vector<std::string> words, char** argv) {
  const auto repeated = std::make_shared<Again>(commands->run_arguments.again);
  const std::vector<std::string> given(words.begin() + 2, words.end());
  const std::vector<std::string> command = repeated->words(*commands->run, given);
  words.resize(1);
  words.insert(words.end(), command.begin(), command.end());
  read(commands.emplace(), words, argv);
  commands->run_arguments.repeated = repeated;
}

int main_within_bounds(int argc, char** argv) {
  prctl(PR_SET_NAME, "orrery");  // one that was executed again, or as a rank, is "exe"
  std::optional<Commands> commands(std::in_place);
  try {
    const std::vector<std::string> words = words_of(argc, argv);
    read(*commands, words, argv);
    if (!commands->run_arguments.again.empty()) read_again(commands, words, argv);
    const int code = dispatch(*commands);
    flush_out();
    return code;
  } catch (const CLI::Success& help) {
    return show_help(commands->app, help);
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string text = error.what();
    const bool repeated = text.find("received") != std::string::npos;
    return refuse(kExitUsage, text.substr(0, text.find(':')) +
                                  (repeated ? " is given more than once" : " needs a value"));
  } catch (const CLI::ParseError& error) {
    return refuse(kExitUsage, std::string(error.what()) + " ('orrery --help' helps)");
  } catch (const UsageError& error) {
    return refuse(kExitUsage, error.what());
  } catch (const ModelFault& fault) {
    return refuse(kExitFault, fault.what());
  } catch (const std::bad_alloc&) {
    return refuse(kExitSystem, "there is not enough memory" + memory::Region::limit_advice());
  } catch (const std::exception& error) {
    return refuse(kExitInternal, fmt::format("internal error: {}", error.what()));
  } catch (...) {
    return refuse(kExitInternal, "internal error: an exception that is not a std::exception");
  }
}

}  // namespace
}  // namespace orrery::cli

int main(int argc, char** argv) {
  orrery::cli::end_with_parent();
  orrery::cli::try_beside(argc, argv);
  orrery::cli::hold_standard_streams();
  const orrery::CrashGuard guard;
  return orrery::cli::main_within_bounds(argc, argv);
}
