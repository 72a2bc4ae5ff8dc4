// SPDX-License-Identifier: Apache-2.0
#include "cli/run_arguments.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <map>

#include "cli/config_file.h"
#include "cli/study_file.h"
#include "core/model_registry.h"
#include "orrery/error.h"
#include "run/options/model_checks.h"
#include "run/results/observation.h"

namespace orrery::cli {
namespace {

/// A setting is a name, "=", and a value; a path to a model has a slash before any "=".
bool is_setting(const std::string& word) {
  const std::size_t equals = word.find('=');
  return equals != std::string::npos && equals > 0 && word.find('/') > equals;
}

void sort_words(RunArguments& arguments) {
  for (const std::string& word : arguments.words) {
    if (is_setting(word)) {
      arguments.sets.push_back(word);
    } else if (arguments.model.empty()) {
      arguments.model = word;
    } else {
      throw UsageError(fmt::format("two models are given, '{}' and '{}'; one is expected",
                                   arguments.model, word));
    }
  }
}

/// Name and value in "name=value".
std::pair<std::string_view, std::string_view> split_set(std::string_view set) {
  const std::size_t equals = set.find('=');
  if (equals == std::string_view::npos || equals == 0)
    throw UsageError(fmt::format("--set needs NAME=VALUE, not '{}'", set));
  return {set.substr(0, equals), set.substr(equals + 1)};
}

void apply_sets(Model& model, const std::vector<std::string>& sets) {
  for (const auto& [name, value] : settings_of(sets)) set_parameter(model, name, value);
}

void add_option(CLI::App& command, const OptionBase& option, std::string& text) {
  const std::string group(option.declaration().group.heading);
  const std::string help = option.help();
  CLI::Option* added =
      option.takes_value()
          ? command.add_option(option.flag(), text, help + " (" + option.default_text() + ")")
                ->type_name(option.declaration().type)
          : command.add_flag(option.flag(), text, help);
  if (!group.empty()) added->group(group);
}

/// Adds all declared options in the order of the help, except `left_out`.
void add_declared_options(CLI::App& command, RunArguments& arguments,
                          const OptionBase* left_out = nullptr) {
  for (const OptionBase* option : all_options())
    if (option != left_out) add_option(command, *option, arguments.texts[option]);
}

void add_model(CLI::App& command, RunArguments& arguments) {
  command
      .add_option("MODEL", arguments.words,
                  "Name of a model ('orrery list') or path of a shared object that holds one")
      ->type_name("");
}

void add_set(CLI::App& command, RunArguments& arguments) {
  command.add_option("--set", arguments.sets, "Set a parameter of the model; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

/// Options of the command, not of the run.
void add_own_options(CLI::App& command, RunArguments& arguments) {
  add_set(command, arguments);
  command
      .add_option("--config", arguments.config, "Read options from a file (the command line wins)")
      ->type_name("FILE");
  command.add_option("--out", arguments.out, "Leave the results in this folder")->type_name("DIR");
  command.add_flag("--force", arguments.force,
                   "Replace the results of an earlier run in that folder");
  command.add_flag("--quiet", arguments.quiet, "Show no progress");
  command.add_flag("--json", arguments.json, "Print the report as JSON instead of tables");
}

void add_snapshot_options(CLI::App& command, SnapshotArguments& arguments) {
  const std::string group = "Snapshots, for 'orrery resume' and 'orrery fork' (with --out)";
  const auto add = [&](const char* flag, std::string& text, const char* type, const char* help) {
    command.add_option(flag, text, help)->type_name(type)->group(group);
  };
  add("--snapshot-every", arguments.every, "TIME", "One at each multiple of a simulated time");
  add("--snapshot-at", arguments.at, "TIME,...", "One at simulated times");
  add("--snapshot-wall", arguments.wall, "TIME",
      "One each time that the clock has gone on by that");
  add("--snapshot-share", arguments.share, "SHARE",
      "The most of the run's time that those may take (0.03)");
  command
      .add_flag("--snapshots", arguments.on,
                "One at Ctrl-C and at the signal USR1, as with all of the above")
      ->group(group);
  command
      .add_flag("--snapshot-check", arguments.check,
                "Resume the first one in another process up to the second, and compare")
      ->group(group);
  command
      .add_flag("--end-after-snapshot", arguments.end_after,
                "End the run after the last one of --snapshot-at")
      ->group(group);
}

void add_trace_options(CLI::App& command, TraceArguments& arguments) {
  const std::string group = "Trace, for ui.perfetto.dev and 'orrery trace'";
  const auto add = [&](const char* flag, std::string& text, const char* type, const char* help) {
    command.add_option(flag, text, help)->type_name(type)->group(group);
  };
  add("--trace", arguments.file, "FILE",
      "Committed events with their causes, and what each worker did when");
  add("--trace-lps", arguments.lps, "LPS", "Events of these LPs alone, such as 0..3,7 (all)");
  add("--trace-from", arguments.from, "TIME", "Events from this simulated time on (the start)");
  add("--trace-to", arguments.to, "TIME", "Events before this simulated time (the end)");
  add("--trace-size", arguments.size, "SIZE", "The most that the file may take (256MiB)");
}

/// The options of a run, from the start or from a snapshot.
void add_options_of_a_run(CLI::App& command, RunArguments& arguments) {
  command.add_option("--engine", arguments.engine, "Engine ('orrery list'; auto)")
      ->type_name("ENGINE");
  add_declared_options(command, arguments);
  add_own_options(command, arguments);
  command.add_flag("--verbose", arguments.verbose, "Show all figures of the engine");
  add_snapshot_options(command, arguments.snapshots);
  add_trace_options(command, arguments.trace);
  command
      .add_flag("--live{0}", arguments.live,
                "Show the run in a browser on this machine while it goes on; --live=PORT names "
                "the port")
      ->type_name("PORT");
  command
      .add_option("--ranks", arguments.ranks,
                  "Processes on this machine that run the model together (1)")
      ->type_name("N");
  command
      .add_option("--mpi", arguments.mpi,
                  "MPI library of the launcher that has started this (the one that the environment "
                  "names)")
      ->type_name("openmpi|mpich");
}

/// No option accepts an empty value; a script with an unset variable in quotes gives one. Without
/// quotes the variable gives no word, and the option takes the next option as its value.
void refuse_missing_values(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& value : option->results()) {
      if (value.empty()) {
        throw UsageError(fmt::format("{} is given an empty value; give it another or leave it away",
                                     option->get_name()));
      }
      if (value.starts_with("--") && command.get_option_no_throw(value) != nullptr)
        throw UsageError(
            fmt::format("{} needs a value, and '{}' is an option", option->get_name(), value));
    }
  }
}

}  // namespace

Settings settings_of(const std::vector<std::string>& sets) {
  Settings settings;
  std::map<std::string_view, std::string_view> given;
  for (const std::string& set : sets) {
    const auto [name, value] = split_set(set);
    const auto [earlier, is_new] = given.try_emplace(name, set);
    if (!is_new) {
      throw UsageError(fmt::format("parameter '{}' is set more than once: '{}' and '{}'", name,
                                   earlier->second, set));
    }
    settings.emplace_back(name, value);
  }
  return settings;
}

void add_run_options(CLI::App& command, RunArguments& arguments) {
  add_model(command, arguments);
  add_options_of_a_run(command, arguments);
  command
      .add_option("--again", arguments.again,
                  "Repeat the run of this report.json, or of the folder with it, and compare")
      ->type_name("FILE");
}

void add_resume_options(CLI::App& command, ResumeArguments& arguments) {
  command.add_option("DIR", arguments.words, "Folder of a run with snapshots")->type_name("");
  command.add_option("--snapshot", arguments.snapshot, "Number of the snapshot (the last one)")
      ->type_name("N");
  add_options_of_a_run(command, arguments);
}

void add_snapshot_command_options(CLI::App& command, SnapshotCommandArguments& arguments) {
  command.add_option("WORDS", arguments.words, "'info' or 'verify', and the folder of a run")
      ->type_name("");
  command.add_flag("--json", arguments.json, "Print what is there as JSON");
}

void add_trace_command_options(CLI::App& command, TraceCommandArguments& arguments) {
  command.add_option("WORDS", arguments.words, "'info', 'show' or 'diff', and traces")
      ->type_name("");
  const auto add = [&](const char* flag, std::string& text, const char* type, const char* help) {
    command.add_option(flag, text, help)->type_name(type);
  };
  add("--lps", arguments.lps, "LPS",
      "show: these LPs, such as 0..3,7 (as many as there is room for)");
  add("--from", arguments.from, "TIME", "show: from this simulated time on (the first event)");
  add("--to", arguments.to, "TIME", "show: before this simulated time (the last event)");
  add("--limit", arguments.limit, "N", "show: so many events at most (50)");
}

void add_llf_command_options(CLI::App& command, LlfCommandArguments& arguments) {
  command
      .add_option("WORDS", arguments.words,
                  "'run --' and a command, or 'status' or 'clean' and a group")
      ->type_name("");
  command
      .add_option("--group", arguments.group,
                  "run: name of the group that its ranks are (one of its own)")
      ->type_name("NAME");
  command
      .add_option("--tokens", arguments.tokens,
                  "run: how many ranks run at a time (as many as there are cores)")
      ->type_name("N");
}

void add_compare_options(CLI::App& command, CompareArguments& arguments) {
  add_model(command, arguments);
  command.add_option("--engines", arguments.engines, "Engines (all there are)")
      ->type_name("ENGINE,...");
  const OptionBase& workers = workers_option();
  command
      .add_option(workers.flag(), arguments.workers,
                  "Numbers of threads (" + workers.default_text() + ")")
      ->type_name("N,...");
  command.add_option("--repeats", arguments.repeats, "Runs of each (3)")->type_name("N");
  add_declared_options(command, arguments, &workers);
  add_own_options(command, arguments);
}

void add_advise_options(CLI::App& command, AdviseArguments& arguments) {
  add_model(command, arguments);
  const auto add = [&](const char* flag, std::string& text, const char* type, const char* help) {
    command.add_option(flag, text, help)->type_name(type);
  };
  add("--budget", arguments.budget, "TIME", "Wall-clock time to measure for (1min)");
  add("--machines", arguments.machines, "FILE.toml",
      "Table of machines: name, cores, speed, price_per_hour (this machine)");
  add("--time-limit", arguments.time_limit, "TIME",
      "The run may take so long: recommend the cheapest machine within that");
  add("--price-limit", arguments.price_limit, "PRICE",
      "The run may cost so much: recommend the fastest machine within that");
  command.add_flag("--calibrate", arguments.calibrate,
                   "Measure the speed factor of this machine for such a table; takes no model");
  add("--engines", arguments.engines, "ENGINE,...", "Engines to measure (all but auto)");
  add("--workers", arguments.workers, "N,...",
      "Numbers of workers to measure (up to the number of usable cores)");
  add("--ranks", arguments.rank_counts, "N,...",
      "Numbers of ranks to measure; 1: none (as many as usable cores)");
  command
      .add_option("--try", arguments.trials,
                  "Values of an option of runs to measure beside its default, such as "
                  "checkpoint=copy,incremental; may be repeated")
      ->type_name("OPTION=VALUE,...")
      ->allow_extra_args(false);
  command
      .add_option("--pilot", arguments.pilot,
                  "Set a parameter so that the model is smaller; run like this to its end it tells "
                  "how events spread over simulated time; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  add_declared_options(command, arguments, &workers_option());
  add_own_options(command, arguments);
}

void add_director_options(CLI::App& command, DirectorArguments& arguments) {
  const auto add = [&](const char* flag, std::string& text, const char* type, const char* help) {
    command.add_option(flag, text, help)->type_name(type);
  };
  command
      .add_option("--pid", arguments.processes,
                  "Process whose threads are directed; may be repeated")
      ->type_name("N")
      ->allow_extra_args(false);
  add("--cgroup", arguments.group, "NAME",
      "All processes of this control group, of version 1 or 2, and those that come into it");
  add("--threads", arguments.pattern, "PATTERN",
      "Direct threads with such names, as in a shell; the others of their processes are helpers "
      "(virtual processors; of a process without such, all)");
  add("--tick", arguments.tick, "TIME", "How often who runs is chosen anew, 100us to 100ms (1ms)");
  add("--ceiling", arguments.ceiling, "SHARE",
      "The most of each core that directed threads have before all others, 5% to 95% (90%)");
  add("--duration", arguments.duration, "TIME",
      "End after this time (when the processes or Ctrl-C do)");
  command.add_flag("--watch", arguments.watch,
                   "Change no scheduling: measure what the system's does; needs no rights");
  add("--csv", arguments.csv, "FILE", "Write the virtual time of each thread at each tick");
  command.add_flag("--force", arguments.force, "Replace that file");
  command.add_flag("--json", arguments.json, "Print the summary as JSON");
  command.add_flag("--quiet", arguments.quiet, "Show no table while it goes on");
}

void add_page_options(CLI::App& command, PageArguments& arguments) {
  command
      .add_option("DIR", arguments.folders,
                  "Folder of a run or a study; several runs stand side by side")
      ->type_name("");
  command
      .add_option("--out", arguments.out,
                  "The page (report.html in the folder; of several, comparison.html here)")
      ->type_name("FILE");
  command.add_flag("--force", arguments.force, "Replace a file that is no such page");
}

void add_list_options(CLI::App& command, ListArguments& arguments) {
  command.add_flag("--json", arguments.json, "Print what is there as JSON, with all options");
}

void add_manual_options(CLI::App& command, ManualArguments& arguments) {
  command.add_option("COMMAND", arguments.command, "Name of a command (orrery itself)")
      ->type_name("");
  command
      .add_option("--into", arguments.into,
                  "Write the pages of all commands into this folder, orrery-NAME.1 each")
      ->type_name("DIR");
}

void add_completion_options(CLI::App& command, CompletionArguments& arguments) {
  command.add_option("SHELL", arguments.shell, "'bash' or 'zsh'")->type_name("");
}

void add_describe_options(CLI::App& command, DescribeArguments& arguments) {
  command
      .add_option("NAME", arguments.words,
                  "Name of a model or an engine, or path of a shared object with a model")
      ->type_name("");
  command.add_flag("--measure", arguments.measure,
                   "Run the model and show the smallest delays of its sends beside what it "
                   "promises; the options below are for that");
  add_set(command, arguments);
  const OptionList observations = observation_options();  // it shows no metrics
  for (const OptionBase* option : all_options())
    if (option->declaration().universal &&
        std::find(observations.begin(), observations.end(), option) == observations.end())
      add_option(command, *option, arguments.texts[option]);
  command.add_flag("--quiet", arguments.quiet, "Show no progress");
  command.add_flag("--json", arguments.json, "Print what is there, or was measured, as JSON");
}

void add_sweep_options(CLI::App& command, SweepArguments& arguments) {
  command
      .add_option(
          "MODEL", arguments.words,
          "Name of a model, path of a shared object that holds one, or a study file (.toml)")
      ->type_name("");
  const auto add = [&](const char* flag, std::string& text, const char* type, const char* help) {
    command.add_option(flag, text, help)->type_name(type);
  };
  command
      .add_option("--set", arguments.sets,
                  "Values of a parameter: 10, csma,aloha or 10..50:10; may be repeated, and then "
                  "all combinations run")
      ->type_name("NAME=VALUES")
      ->allow_extra_args(false);
  add("--seeds", arguments.seeds, "N,...", "Seeds of the replications of each point (1..10)");
  add("--jobs", arguments.jobs, "N", "Runs at once (as many as there are usable cores)");
  add("--confidence", arguments.confidence, "SHARE",
      "Probability that an interval covers the mean (0.95)");
  command
      .add_option("--until-precision", arguments.precisions,
                  "Add replications until an interval is within this share of its mean; may be "
                  "repeated")
      ->type_name("MEASURE=SHARE[@CONFIDENCE]")
      ->allow_extra_args(false);
  add("--max-seeds", arguments.max_seeds, "N", "Replications at which that gives up (1000)");
  add("--compare", arguments.compared, "PARAMETER",
      "Show the differences between the values of this parameter");
  add("--show", arguments.shown, "MEASURE,...",
      "Results and metrics for the terminal and for pictures (the model's results)");
  command
      .add_option("--engine", arguments.engine,
                  "Engine of each run (sequential, if runs share cores)")
      ->type_name("ENGINE");
  add_declared_options(command, arguments, &seed_option());
  add("--out", arguments.out, "DIR", "Leave the results in this folder, and go on there");
  command.add_flag("--force", arguments.force,
                   "Replace another study in that folder; runs that both have are kept");
  command.add_flag("--quiet", arguments.quiet, "Show no progress");
  command.add_flag("--json", arguments.json, "Print the study as JSON instead of tables");
}

std::string SweepArguments::place_in_file(const std::string& key) const {
  const auto found = lines.find(key);
  if (found == lines.end()) return "";
  const std::size_t dot = key.find('.');
  return study_file_place(study_file, found->second,
                          dot == std::string::npos ? key : key.substr(dot + 1));
}

std::string DescribeArguments::needing_a_run() const {
  for (const auto& [option, text] : texts)
    if (!text.empty()) return option->flag();
  return sets.empty() ? "" : "--set";
}

void complete_arguments(CLI::App& command, RunArguments& arguments) {
  refuse_missing_values(command);
  sort_words(arguments);
  if (!arguments.config.empty()) {
    apply_config_file(command, arguments);
    refuse_missing_values(command);
  }
  if (arguments.model.empty()) {
    throw UsageError(fmt::format(
        "which model? 'orrery {0} MODEL' needs one; 'orrery list' shows all", command.get_name()));
  }
}

void complete_arguments(CLI::App& command, ResumeArguments& arguments) {
  arguments.is_fork = command.get_name() == "fork";
  if (arguments.words.empty()) {
    throw UsageError(fmt::format("which run? 'orrery {} DIR' needs the folder of its results",
                                 command.get_name()));
  }
  // The folder is the first word, since its name may contain "=", and pairs that follow a --set are
  // words, too.
  const std::string folder = arguments.words.front();
  arguments.words.erase(arguments.words.begin());
  arguments.model = folder;
  complete_arguments(command, static_cast<RunArguments&>(arguments));
  arguments.folder = folder;
}

void complete_arguments(const CLI::App& command, const PageArguments& arguments) {
  refuse_missing_values(command);
  if (arguments.folders.empty())
    throw UsageError(
        "which run? 'orrery report DIR' needs the folder that 'orrery run --out DIR' left");
}

void complete_arguments(const CLI::App& command, const TraceCommandArguments& arguments) {
  refuse_missing_values(command);
  const bool shows = !arguments.words.empty() && arguments.words[0] == "show";
  for (const char* flag : {"--lps", "--from", "--to", "--limit"})
    if (!shows && command.get_option(flag)->count() > 0)
      throw UsageError(fmt::format("{} is for 'orrery trace show'", flag));
}

void complete_arguments(const CLI::App& command, const DirectorArguments&) {
  refuse_missing_values(command);
}

void complete_arguments(CLI::App& command, AdviseArguments& arguments) {
  if (!arguments.calibrate)
    return complete_arguments(command, static_cast<RunArguments&>(arguments));
  refuse_missing_values(command);
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->count() > 0 && name != "--calibrate" && name != "--json" && name != "--quiet")
      throw UsageError(
          fmt::format("'orrery advise --calibrate' measures the machine alone; leave {} away",
                      name.starts_with("--") ? name : "'" + arguments.words.front() + "'"));
  }
}

void complete_arguments(CLI::App& command, SweepArguments& arguments) {
  refuse_missing_values(command);
  sort_words(arguments);
  if (arguments.model.ends_with(".toml")) {
    arguments.study_file = std::exchange(arguments.model, "");
    apply_study_file(command, arguments);
    refuse_missing_values(command);
  }
  if (arguments.model.empty()) {
    throw UsageError(
        arguments.study_file.empty()
            ? "which model? 'orrery sweep MODEL' needs one, or a study file; 'orrery list' shows "
              "all models"
            : fmt::format("study file '{}' names no model; write: model = \"NAME\"",
                          arguments.study_file));
  }
}

std::string SnapshotArguments::flag() const {
  if (!every.empty()) return "--snapshot-every";
  if (!at.empty()) return "--snapshot-at";
  if (!wall.empty()) return "--snapshot-wall";
  if (!share.empty()) return "--snapshot-share";
  if (end_after) return "--end-after-snapshot";
  if (check) return "--snapshot-check";
  return on ? "--snapshots" : "";
}

unsigned ResumeArguments::number() const {
  if (snapshot.empty()) return 0;
  unsigned value = 0;
  const char* const end = snapshot.data() + snapshot.size();
  const auto [stop, error] = std::from_chars(snapshot.data(), end, value);
  if (error != std::errc() || stop != end || value == 0)
    throw UsageError(fmt::format(
        "--snapshot cannot be '{}': a number is expected ('orrery snapshot info DIR' shows all)",
        snapshot));
  return value;
}

ChosenModel choose_model(const RunArguments& arguments) {
  ChosenModel chosen;
  chosen.model = call_model("the model's constructor",
                            [&] { return make_model(arguments.model, &chosen.name); });
  call_model("tick_seconds()", [&] { return chosen.model->tick_seconds(); });
  if (chosen.name != arguments.model) chosen.path = arguments.model;
  try {
    apply_sets(*chosen.model, arguments.file_sets);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("config file '{}': {}", arguments.config, error.what()));
  }
  apply_sets(*chosen.model, arguments.sets);
  return chosen;
}

namespace {

bool spans_ranks(const EngineInfo& engine) {
  return engine.make()->spans_ranks();
}

const EngineInfo& asked_engine(const std::string& name, bool over_ranks) {
  const EngineInfo& engine = find_engine(name);
  if (!over_ranks || spans_ranks(engine)) return engine;
  std::vector<std::string> names;
  for (const EngineInfo& info : engines())
    if (spans_ranks(info)) names.push_back(info.name);
  throw UsageError(fmt::format("engine {} runs in one process; over ranks use {}", engine.name,
                               listed(names, " or ")));
}

}  // namespace

const EngineInfo& choose_engine(const RunArguments& arguments, bool over_ranks) {
  if (!arguments.engine.empty()) return asked_engine(arguments.engine, over_ranks);
  for (const char* name : {"auto", "timewarp", "sequential"})
    for (const EngineInfo& info : engines())
      if (info.name == name && (!over_ranks || spans_ranks(info))) return info;
  throw UsageError("this build of orrery has no engine");
}

RunOptions read_options(const RunArguments& arguments, const Model& model, RunOptions options) {
  for (const OptionBase* option : all_options())
    if (const std::string text = arguments.text(*option); !text.empty())
      option->read(text, model.tick_seconds(), options);
  check_option_rules(options);
  return options;
}

std::uint64_t read_seed(const RunArguments& arguments) {
  constexpr double kAnyTick = 1e-9;  // a seed does not depend on the tick
  RunOptions options;
  if (const std::string text = arguments.text(seed_option()); !text.empty())
    seed_option().read(text, kAnyTick, options);
  return options.seed;
}

std::vector<std::string> effective_sets(const RunArguments& arguments) {
  std::vector<std::string> sets = arguments.file_sets;
  std::erase_if(sets, [&](const std::string& set) {
    return std::any_of(arguments.sets.begin(), arguments.sets.end(), [&](const std::string& wins) {
      return split_set(wins).first == split_set(set).first;
    });
  });
  sets.insert(sets.end(), arguments.sets.begin(), arguments.sets.end());
  return sets;
}

}  // namespace orrery::cli
