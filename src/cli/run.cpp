// SPDX-License-Identifier: Apache-2.0
//
// orrery run MODEL, resume DIR and fork DIR: one run, from the options to the summary. The order of
// the steps keeps two promises: everything that can be refused is refused before anything is
// written, and the report appears only when all files that it names are on the disk.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "cli/again.h"
#include "cli/command.h"
#include "cli/live.h"
#include "cli/rank_session.h"
#include "cli/revision.h"
#include "cli/run_arguments.h"
#include "cli/standard_output.h"
#include "cli/stopping.h"
#include "cli/tracing.h"
#include "cli/travel.h"
#include "core/modules.h"
#include "observe/report.h"
#include "observe/result_files.h"
#include "observe/summary.h"
#include "observe/watch.h"
#include "orrery/error.h"
#include "run/model_checks.h"
#include "run/observation.h"
#include "run/supervised_run.h"

namespace orrery::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// The output of a run with --out: the folder, its files, and the store that feeds them.
struct Output {
  Output(const std::string& path, bool force) : folder(path, kReportName, force) {}

  /// The writer for the model's rows: into the files at once, or into the log of `travel`; null if
  /// the model has no tables.
  RowWriter* open(const Model& model, Travel& travel) {
    files.emplace(folder, model);
    travel.open(folder.path(), !model.tables().empty());
    RowWriter* const log = travel.row_writer();
    if (model.tables().empty()) return nullptr;
    return log != nullptr ? log : &*files;
  }

  OutputFolder folder;
  std::optional<ResultFiles> files;
};

/// The rows of a run: those of its model's tables, and those of a trace.
class RowFlow {
 public:
  RowFlow(Tracing& tracing, Travel& travel, std::optional<Output>& output)
      : tracing_(tracing), travel_(travel), output_(output) {}

  /// Null if the run writes no rows.
  RowStore* open(const Model& model, RunControl& control) {
    RowWriter* const writer = tracing_.before(output_ ? output_->open(model, travel_) : nullptr);
    // A run whose results cannot be kept is not worth its time.
    const auto stop = [&control] { control.stop_requested.store(true, std::memory_order_relaxed); };
    return writer == nullptr ? nullptr : &store_.emplace(*writer, stop);
  }
  /// Call it when the run has ended.
  void close(bool failed) {
    if (!store_) return;
    store_->close(failed ? RowStore::Rest::dropped : RowStore::Rest::written);
    if (output_) travel_.hand_rows_to(*output_->files);
  }

 private:
  Tracing& tracing_;
  Travel& travel_;
  std::optional<Output>& output_;
  std::optional<RowStore> store_;
};

Watch::Settings watch_settings(const RunRecord& record, const Travel& travel, bool quiet) {
  Watch::Settings settings;
  settings.tick_seconds = record.model->tick_seconds();
  settings.horizon_seconds =
      static_cast<double>(record.options.until.ticks()) * settings.tick_seconds;
  settings.show_progress = !quiet;
  travel.set_up(settings);
  return settings;
}

/// Makes the Travel of a run, which handles its snapshots.
using TravelMaker = std::function<std::unique_ptr<Travel>(transport::RankTransport*)>;

/// All objects of a run, from the options to its end.
struct Setting {
  RunControl control;  // outlives the store, which may ask for a stop as long as it exists
  std::optional<Output> output;
  ChosenModel chosen;
  const EngineInfo* engine = nullptr;
  std::unique_ptr<Engine> runner;
  RunRecord record;
  std::string unused;  ///< options that nothing used
  std::unique_ptr<Travel> travel;
  Stopping stopping;
  Tracing tracing;
  Live live;
};

/// Runs the engine under observation. Returns the signal that ended the run, 0 if none did.
int execute(Setting& setting, bool quiet) {
  RunRecord& record = setting.record;
  RunControl& control = setting.control;
  Travel& travel = *setting.travel;
  // The first object, since it blocks signals for all threads that start after it.
  Watch watch(control, watch_settings(record, travel, quiet));
  const LiveAttachment shown(setting.live, watch);
  const ThreadWatch watched(control.threads, *record.model);
  RowFlow rows(setting.tracing, travel, setting.output);
  RowStore* const store = rows.open(*record.model, control);
  control.rows = store;
  travel.begin(control, store);
  setting.live.begin(record, control);
  setting.stopping.begin(control);
  setting.tracing.begin(control);
  const auto start = Clock::now();
  record.result = run_supervised(*setting.runner, *record.model, record.options, control);
  record.wall_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  rows.close(record.result.end == RunEnd::failed);
  setting.live.detach();
  watch.stop();
  record.progress = watch.progress(record.result);
  return watch.signal();
}

void show(const RunRecord& record, const RunArguments& arguments) {
  if (arguments.json) {
    print_out("{}", report_json(record));
    return;
  }
  print_out("{}", summary_text(record, Terminal::of(STDOUT_FILENO),
                               arguments.verbose ? Detail::figures : Detail::results));
  if (arguments.out.empty()) return;
  print_out("\nresults in {}:", arguments.out);
  for (const std::string& name : record.files) print_out(" {}", name);
  print_out(" {}\n", kReportName);
}

/// Prints an error behind the results, also if the results cannot be printed.
struct ToldAtLast {
  const std::string& sentence;
  ~ToldAtLast() {
    if (!sentence.empty()) fmt::print(stderr, "orrery: {}\n", sentence);
  }
};

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

/// The engine that --engine names. The default is an engine that chooses engines, if one is linked
/// in; over ranks it is Time Warp.
const EngineInfo& choose_engine(const RunArguments& arguments, bool over_ranks) {
  if (!arguments.engine.empty())
    return *at_key(arguments, "engine", "",
                   [&] { return &asked_engine(arguments.engine, over_ranks); });
  for (const char* name : {"auto", "timewarp", "sequential"})
    for (const EngineInfo& info : engines())
      if (info.name == name && (!over_ranks || spans_ranks(info))) return info;
  throw UsageError("this build of orrery has no engine");
}

void begin_record(const RunArguments& arguments, Setting& setting) {
  RunRecord& record = setting.record;
  record.started = utc_now();
  record.command = arguments.command;
  record.revision = kRevision;
  record.model = setting.chosen.model.get();
  record.model_name = setting.chosen.name;
  record.model_path = setting.chosen.path;
  record.engine = setting.engine->name;
  record.host = HostFacts::now();
}

/// Prepares the model and returns the input files that were read.
std::vector<InputFile> prepare_and_listen(const RunArguments& arguments, Model& model,
                                          Travel& travel) {
  InputDigests inputs = arguments.inputs;
  const Listening listening(inputs);
  prepare_model(model, travel.model_seed(read_seed(arguments)));
  return inputs.files();
}

/// Makes all checks of model and options that need no execution.
void prepare(const RunArguments& arguments, const RankPlace& place, Travel& travel,
             Setting& setting) {
  Model& model = *setting.chosen.model;
  RunOptions& options = setting.record.options;
  travel.note_model(setting.chosen);
  if (arguments.repeated) arguments.repeated->check_builds(setting.chosen.path);
  setting.record.inputs = prepare_and_listen(arguments, model, travel);
  if (arguments.repeated) arguments.repeated->check_inputs(setting.record.inputs);
  travel.restore_model(setting.chosen);
  options.until = horizon_of(model);
  travel.set_defaults(options);
  options = read_options(arguments, model, options);
  options.place = place;
  travel.set_options(options, model);
  observe(model, options);
  setting.unused = note_unused_options(*setting.engine, options);
  setting.runner = setting.engine->make();
  travel.check(*setting.runner, *setting.engine, model);
  setting.stopping.prepare(*setting.runner, *setting.engine, model, options);
  if (const std::string why = setting.runner->refusal(model, options); !why.empty())
    throw UsageError(refusal_sentence(*setting.engine, why));
  setting.tracing.prepare(arguments.trace, setting.chosen, options, place.rank == 0);
  setting.live.prepare(arguments, *setting.runner, setting.record, setting.control);
}

std::string contents_text(const std::vector<InputFile>& inputs) {
  std::string text;
  for (const InputFile& one : inputs) text += fmt::format("{} {}\n", one.digest, one.path);
  return text;
}

void allow_ranks(const ChosenModel& chosen) {
  if (const std::string why = chosen.model->refuses_ranks(); !why.empty())
    throw UsageError(fmt::format("model {}: {}", chosen.name, why));
}

/// All checks are made in here; they fail on all ranks or on none.
void set_up(const RunArguments& arguments, RankSession& ranks, const TravelMaker& make_travel,
            Setting& setting) {
  RunRecord& record = setting.record;
  const bool over_ranks = ranks.transport() != nullptr;
  ranks.agree([&] {
    if (ranks.is_first()) require_standard_output();
    setting.travel = make_travel(ranks.transport());
    Travel& travel = *setting.travel;
    setting.chosen = choose_model(travel.model_arguments());
    if (over_ranks) allow_ranks(setting.chosen);
    setting.engine = &choose_engine(arguments, over_ranks);
    if (ranks.is_first() && !arguments.out.empty())
      setting.output.emplace(arguments.out, arguments.force || travel.resumes_in_place());
    begin_record(arguments, setting);
    prepare(arguments, ranks.place(), travel, setting);
  });
  if (!over_ranks) return;
  RankSession::Facts facts = facts_of(setting.chosen, *setting.engine, record.options);
  facts.emplace_back("what it was asked for", setting.travel->facts_text());
  facts.emplace_back("what is traced", setting.tracing.facts_text());
  facts.emplace_back("what its input files hold", contents_text(record.inputs));
  ranks.compare(facts);
  setting.control.ranks = ranks.transport();
  record.back_end = ranks.transport()->back_end();
  for (unsigned rank = 0; rank < ranks.transport()->ranks(); ++rank)
    record.hosts.push_back(ranks.transport()->host(rank));
}

void add_notes(const std::vector<std::string>& notes, RunRecord& record) {
  record.result.notes.insert(record.result.notes.end(), notes.begin(), notes.end());
}

int run_as_rank(const RunArguments& arguments, RankSession& ranks, const TravelMaker& make_travel) {
  Setting setting;
  set_up(arguments, ranks, make_travel, setting);
  Travel& travel = *setting.travel;
  RunRecord& record = setting.record;
  std::optional<Output>& output = setting.output;
  const ChosenModel& chosen = setting.chosen;
  int signal = 0;
  try {
    signal = execute(setting, arguments.quiet || !ranks.is_first());
  } catch (const UsageError&) {  // the same on all ranks
    ranks.part();
    if (!ranks.is_first()) throw ToldByRank0();
    throw;
  }
  if (ranks.transport() != nullptr && record.result.end == RunEnd::failed)
    return ranks.abandon(record.result.fault);
  setting.tracing.end(record, ranks.transport());
  ranks.part();
  if (!ranks.is_first()) throw ToldByRank0();
  if (!setting.unused.empty()) add_notes({setting.unused}, record);
  add_notes(chosen.model->notes(), record);
  travel.end(record);
  record.peak_resident_bytes = peak_resident_bytes();
  if (record.result.end != RunEnd::failed)
    record.derived = derive_values(*chosen.model, record.result);
  Again::Verdict verdict;
  if (arguments.repeated) verdict = arguments.repeated->judge(record);
  if (verdict.equal && !verdict.sentence.empty()) add_notes({verdict.sentence}, record);
  if (output) output->files->publish(record);
  setting.tracing.publish();
  const ToldAtLast trouble{verdict.equal ? record.result.fault : verdict.sentence};
  setting.live.end(record, trouble.sentence);
  show(record, arguments);
  if (!arguments.json) print_out("{}{}", setting.tracing.sentence(), travel.advice(record));
  flush_out();
  if (record.result.end == RunEnd::fault) return kExitFault;
  if (record.result.end == RunEnd::failed) return kExitSystem;
  if (!verdict.equal) return kExitMismatch;
  return signal != 0 && !record.complete() ? kExitSignal + signal : kExitOk;
}

/// Runs this process, which may be one rank of several.
int run_with(const RunArguments& arguments, const TravelMaker& make_travel) {
  RankSession ranks(arguments);
  try {
    return run_as_rank(arguments, ranks, make_travel);
  } catch (const ToldByRank0&) {
    return kExitOk;
  } catch (const transport::RankFailure& failure) {
    return ranks.abandon(failure);
  } catch (const SystemFailure& failure) {
    fmt::print(stderr, "orrery: {}\n", failure.what());
    return kExitSystem;
  }
}

constexpr Entry kRunFiles[] = {
    {"DIR/report.json",
     "What was run, and what came out. It is written last: where it is, everything is."},
    {"DIR/results.sqlite", "The same with all tables, for queries."},
    {"DIR/TABLE.csv", "Each table of the model."},
    {"FILE", "With --trace: the trace, for ui.perfetto.dev and 'orrery trace'."},
    {"DIR/snapshots", "What 'orrery resume' and 'orrery fork' begin with; the last two are kept."},
};

constexpr CommandText kRunText = {
    .name = "run",
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
    .files = kRunFiles};

constexpr CommandText kResumeText = {
    .name = "resume",
    .summary = "Go on with a run from its last snapshot",
    .operands = "DIR [OPTIONS]",
    .prose =
        R"(The run goes on in its own folder, with its own parameters, seed and horizon, on any engine and any
number of workers, and leaves the results that it would have had without the interruption.)",
    .examples = R"(orrery run traffic --out results/day --snapshot-every 1h
orrery resume results/day
orrery resume results/day --engine timewarp --workers 4
orrery snapshot info results/day)",
    .files = kRunFiles};

constexpr CommandText kForkText = {
    .name = "fork",
    .summary = "Begin a changed run at another's snapshot",
    .operands = "DIR --out NEW [OPTIONS]",
    .prose =
        R"(What-ifs from one warm-up: the other run's state is the beginning of this one, which may have another
seed from here on, and other values of parameters that the model reads when it needs them.)",
    .examples = R"(orrery run pcs --out results/warm --snapshot-at 1h --end-after-snapshot
orrery fork results/warm --out results/what-if --seed 7)",
    .files = kRunFiles};

// A process that takes or resumes snapshots needs its memory at fixed addresses. So it executes
// itself again for that, before other processes know it.

class RunCommand final : public Command {
 public:
  RunCommand() : Command(kRunText) {}

  void declare(OptionTable& options) override { declare_run(options, arguments_); }

  std::vector<std::string> replaced(const OptionTable& options,
                                    std::vector<std::string> words) override {
    const std::string path = Again::report_in(options, words);
    if (path.empty()) return words;
    arguments_.repeated = std::make_shared<Again>(path);
    return arguments_.repeated->words(options, words);
  }

  int run(OptionTable& options, const Invocation& call) override {
    arguments_.command = call.words;
    arguments_.command_line = call.argv;
    complete_request(options, arguments_, "run", [&](const std::string& flag) {
      return arguments_.repeated && !Again::repeats(flag);
    });
    std::string resumable;
    if (arguments_.snapshots.wanted()) {
      execute_without_random_addresses();
      resumable = arguments_.out;
    }
    if (const std::optional<int> code = launch_ranks(arguments_, resumable)) return *code;
    return run_with(arguments_,
                    [&](auto* ranks) { return std::make_unique<Travel>(arguments_, ranks); });
  }

 private:
  RunArguments arguments_;
};

/// `resume` and `fork`, where a folder stands in the place of a model.
class ResumeCommand final : public Command {
 public:
  ResumeCommand(const CommandText& text, bool is_fork) : Command(text) {
    arguments_.is_fork = is_fork;
  }

  void declare(OptionTable& options) override { declare_resume(options, arguments_); }

  int run(OptionTable& options, const Invocation& call) override {
    if (arguments_.words.empty())
      throw UsageError(
          fmt::format("which run? 'orrery {} DIR' needs the folder of its results", text().name));
    arguments_.command = call.words;
    arguments_.command_line = call.argv;
    // The folder is the first word, since its name may contain "=", and pairs that follow a --set
    // are words, too.
    arguments_.folder = arguments_.model = arguments_.words.front();
    arguments_.words.erase(arguments_.words.begin());
    complete_request(options, arguments_, text().name);
    execute_without_random_addresses();
    RunArguments run = arguments_;
    if (!arguments_.is_fork) run.out = arguments_.folder;
    if (const std::optional<int> code = launch_ranks(arguments_, run.out)) return *code;
    return run_with(run, [&](auto* ranks) { return std::make_unique<Travel>(arguments_, ranks); });
  }

 private:
  ResumeArguments arguments_;
};

const CommandEntry kRunEntry(3, make_command<RunCommand>);
const CommandEntry kResumeEntry(4, [] {
  return std::unique_ptr<Command>(new ResumeCommand(kResumeText, false));
});
const CommandEntry kForkEntry(5, [] {
  return std::unique_ptr<Command>(new ResumeCommand(kForkText, true));
});

}  // namespace
}  // namespace orrery::cli
