// SPDX-License-Identifier: Apache-2.0
//
// The options of the commands, as written on the command line, and the functions that read them.
// Options stay text until the model is known, because some need the model ("2h" in the model's
// ticks), and because Orrery then refuses a value with a sentence that says which values are
// allowed.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/input_digests.h"
#include "orrery/model.h"
#include "run/engine.h"
#include "run/options/model_checks.h"
#include "study/plan.h"

namespace CLI {
class App;
}

namespace orrery::cli {

class Again;

/// The snapshot options of a run.
struct SnapshotArguments {
  bool on = false, end_after = false, check = false;
  std::string every, wall, share, at;

  bool wanted() const { return !flag().empty(); }
  /// A snapshot option that was given; empty: none.
  std::string flag() const;
};

/// The trace options of a run.
struct TraceArguments {
  std::string file;  ///< empty: no trace
  std::string lps, from, to, size;
};

struct RunArguments {
  std::vector<std::string> words;  ///< MODEL, and name=value pairs that follow a --set
  std::string model;
  std::vector<std::string> sets;       ///< "name=value"
  std::vector<std::string> file_sets;  ///< those of the config file; `sets` win
  std::string engine, config, out;
  std::string ranks, mpi, live;           ///< of a run
  std::string again;                      ///< report of the run to repeat
  std::shared_ptr<const Again> repeated;  ///< null: this is no repetition
  InputDigests inputs;                    ///< read before the model is prepared
  std::vector<std::string> command;       ///< for the report
  char* const* command_line = nullptr;  ///< all words, for processes that are started like this one
  bool quiet = false, force = false, json = false, verbose = false;
  SnapshotArguments snapshots;
  TraceArguments trace;
  /// The texts of declared run options (run/options/option.h); empty: not given. A map, since CLI11 keeps
  /// references to its elements.
  std::map<const OptionBase*, std::string> texts;

  std::string text(const OptionBase& option) const {
    const auto found = texts.find(&option);
    return found == texts.end() ? "" : found->second;
  }
};

/// A run that resumes from a snapshot: in its own folder, or, as a fork with changes, in another.
struct ResumeArguments : RunArguments {
  std::string folder, snapshot;
  bool is_fork = false;

  /// The snapshot's number; 0: the last one. Throws UsageError.
  unsigned number() const;
};

/// `orrery snapshot info|verify DIR`
struct SnapshotCommandArguments {
  std::vector<std::string> words;
  bool json = false;
};

/// `orrery trace info|show FILE`, `orrery trace diff A B`
struct TraceCommandArguments {
  std::vector<std::string> words;
  std::string lps, from, to, limit;
};

/// `orrery llf run -- COMMAND`, `status [GROUP]`, `clean [GROUP]`
struct LlfCommandArguments {
  std::vector<std::string> words;
  std::vector<std::string> command;  ///< behind "--"
  std::string group, tokens;
};

struct CompareArguments : RunArguments {
  std::string engines, repeats;
  std::string workers;  ///< a list
};

/// A study. The values of a study file go into the same members, with their line numbers.
struct SweepArguments : RunArguments {
  std::string seeds, jobs, confidence, max_seeds, compared, shown;
  std::vector<std::string> precisions;

  std::string study_file;
  std::map<std::string, std::size_t> lines;  ///< of the study file; parameters as "set.NAME"
  std::vector<study::Axis> file_axes;
  std::vector<study::Settings> points;
  std::vector<std::size_t> point_lines;

  /// The place of an option or a parameter in the study file, a prefix for error messages; empty:
  /// not in the file.
  std::string place_in_file(const std::string& key) const;
};

/// `orrery advise MODEL` and `orrery advise --calibrate`
struct AdviseArguments : RunArguments {
  bool calibrate = false;
  std::string engines, workers, rank_counts;  ///< lists
  std::string budget, machines, time_limit, price_limit;
  std::vector<std::string> pilot;   ///< "name=value"
  std::vector<std::string> trials;  ///< "option=value,..."
};

/// `orrery director --pid N ... --cgroup NAME`
struct DirectorArguments {
  std::vector<std::string> processes;
  std::string group, pattern, tick, ceiling, duration, csv;
  bool watch = false, force = false, json = false, quiet = false;
};

/// `orrery report DIR ...`
struct PageArguments {
  std::vector<std::string> folders;
  std::string out;
  bool force = false;
};

/// `orrery list`
struct ListArguments {
  bool json = false;
};

/// `orrery manual [COMMAND] [--into DIR]`
struct ManualArguments {
  std::string command, into;
};

/// `orrery completion bash|zsh`
struct CompletionArguments {
  std::string shell;
};

/// `model` may be the name of an engine.
struct DescribeArguments : RunArguments {
  bool measure = false;

  /// A given option that has a meaning only for a run; empty: none.
  std::string needing_a_run() const;
};

/// Adds the command's own options and all declared run options, for `run`.
void add_run_options(CLI::App& command, RunArguments& arguments);
/// The same for `resume` and `fork`.
void add_resume_options(CLI::App& command, ResumeArguments& arguments);
void add_snapshot_command_options(CLI::App& command, SnapshotCommandArguments& arguments);
void add_trace_command_options(CLI::App& command, TraceCommandArguments& arguments);
void add_llf_command_options(CLI::App& command, LlfCommandArguments& arguments);
/// The same for `compare`, where engines and numbers of workers are lists.
void add_compare_options(CLI::App& command, CompareArguments& arguments);
/// The same for `sweep`, which gives its runs seeds.
void add_sweep_options(CLI::App& command, SweepArguments& arguments);
/// The same for `advise`, where engines, workers and ranks are lists.
void add_advise_options(CLI::App& command, AdviseArguments& arguments);
void add_director_options(CLI::App& command, DirectorArguments& arguments);
void add_page_options(CLI::App& command, PageArguments& arguments);
void add_list_options(CLI::App& command, ListArguments& arguments);
void add_manual_options(CLI::App& command, ManualArguments& arguments);
void add_completion_options(CLI::App& command, CompletionArguments& arguments);
/// For `describe`: the declared options that every engine honours.
void add_describe_options(CLI::App& command, DescribeArguments& arguments);

/// Sorts words into model and sets and reads the config file. Call it once after parsing. The
/// command line wins over the file.
void complete_arguments(CLI::App& command, RunArguments& arguments);

/// For `resume` and `fork`, where a folder stands in the place of a model.
void complete_arguments(CLI::App& command, ResumeArguments& arguments);

/// For `report`, which takes folders only.
void complete_arguments(const CLI::App& command, const PageArguments& arguments);
void complete_arguments(const CLI::App& command, const TraceCommandArguments& arguments);
void complete_arguments(const CLI::App& command, const DirectorArguments& arguments);

/// For `advise`, which may have no model.
void complete_arguments(CLI::App& command, AdviseArguments& arguments);

/// For `sweep`, whose model may be a study file.
void complete_arguments(CLI::App& command, SweepArguments& arguments);

/// A model with its parameters set, not yet prepared.
struct ChosenModel {
  ModelPointer model;
  std::string name, path;
};
ChosenModel choose_model(const RunArguments& arguments);

/// The engine that --engine names. The default is an engine that chooses engines, if one is linked
/// in; over ranks it is Time Warp.
const EngineInfo& choose_engine(const RunArguments& arguments, bool over_ranks = false);

/// Returns `defaults` changed by the given options. Throws UsageError for a value that no engine
/// takes, so that a typing error is refused on every engine.
RunOptions read_options(const RunArguments& arguments, const Model& model,
                        RunOptions defaults = {});

/// The seed alone, since a model needs its seed before it is prepared.
std::uint64_t read_seed(const RunArguments& arguments);

/// Names and values of "name=value". Throws UsageError, also for a name that is given twice.
using Settings = std::vector<std::pair<std::string, std::string>>;
Settings settings_of(const std::vector<std::string>& sets);
/// "name=value" of config file and command line; the command line wins.
std::vector<std::string> effective_sets(const RunArguments& arguments);

}  // namespace orrery::cli
