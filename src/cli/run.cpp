// SPDX-License-Identifier: Apache-2.0
//
// orrery run MODEL, resume DIR and fork DIR: one run, from the options to the summary. The order of
// the steps keeps two promises: everything that can be refused is refused before anything is
// written, and the report appears only when all files that it names are on the disk.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/live.h"
#include "cli/rank_launch.h"
#include "cli/rank_session.h"
#include "cli/replay_check.h"
#include "cli/revision.h"
#include "cli/run_feature.h"
#include "cli/snapshot_session.h"
#include "cli/standard_output.h"
#include "cli/stopping.h"
#include "cli/tracing.h"
#include "core/model_access.h"
#include "orrery/error.h"
#include "output/report.h"
#include "output/result_files.h"
#include "output/summary.h"
#include "run/options/model_checks.h"
#include "run/results/metric_options.h"
#include "run/threads/supervised_run.h"

namespace orrery::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// The features of a run. Their order matters in four steps:
/// - model_prepared: ReplayCheck looks at what prepare() has read before a snapshot replaces the
///   model.
/// - rows: each feature stands in front of those before it. The log of snapshots takes the model's
///   rows only, so the trace stands in front of the log and keeps what it traces.
/// - begin: each feature's halts ask those before it. --stop-when asks last, since a run that it
///   ends has taken its snapshot and has been shown.
class Features {
 public:
  explicit Features(Beginning beginning) : snapshots(beginning) {
    if (beginning == Beginning::model) list_.push_back(&replay);
    list_.insert(list_.end(), {&snapshots, &tracing_, &live_, &stopping_});
  }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }

  ReplayCheck replay;
  SnapshotSession snapshots;

 private:
  Tracing tracing_;
  Live live_;
  Stopping stopping_;
  std::vector<RunFeature*> list_;
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

/// One run on this process, which may be one rank of several.
class LocalRun {
 public:
  LocalRun(const RunArguments& arguments, const Invocation& call, const Features& features,
           RankSession& ranks, const Survived& survived)
      : arguments_(arguments),
        features_(features),
        ranks_(ranks),
        survived_(survived),
        state_(arguments) {
    state_.ranks = ranks.transport();
    record_.command = call.words;
    record_.started = utc_now();
    record_.revision = kRevision;
    record_.options.place = ranks.place();
  }

  /// Returns the exit code.
  int execute() {
    try {
      set_up();
      return run_and_report();
    } catch (...) {
      drop_files();
      throw;
    }
  }

 private:
  /// Makes all checks; they fail on all ranks or on none.
  void set_up() {
    ranks_.agree([this] {
      if (ranks_.is_first()) require_standard_output();
      make_model();
      prepare();
    });
    if (state_.ranks == nullptr) return;
    RunFacts facts = facts_of(state_.chosen, *state_.info, record_.options, record_.inputs);
    for (const RunFeature* feature : features_) feature->add_facts(facts);
    ranks_.compare(facts);
    state_.control.ranks = state_.ranks;
    record_.back_end = state_.ranks->back_end();
    for (unsigned rank = 0; rank < state_.ranks->ranks(); ++rank)
      record_.hosts.push_back(state_.ranks->host(rank));
  }

  void make_model() {
    RunRequest request = arguments_;
    for (RunFeature* feature : features_) feature->start(state_, request);
    state_.chosen = choose_model(request);
    const bool over_ranks = state_.ranks != nullptr;
    if (const std::string why = over_ranks ? state_.model().refuses_ranks() : ""; !why.empty())
      throw UsageError(fmt::format("model {}: {}", state_.chosen.name, why));
    state_.info = &choose_engine(arguments_, over_ranks);
    if (ranks_.is_first() && !state_.out.empty())
      folder_.emplace(state_.out, kReportName, arguments_.force || state_.resumes_in_place);
    record_.model = state_.chosen.model.get();
    record_.model_name = state_.chosen.name;
    record_.model_path = state_.chosen.path;
    record_.engine = state_.info->name;
    record_.host = HostFacts::now();
  }

  /// Makes all checks of model and options that need no execution.
  void prepare() {
    Model& model = state_.model();
    RunOptions& options = record_.options;
    state_.model_seed = read_seed(arguments_);
    ModelAccess::set_place(model, options.place.rank, options.place.ranks);
    for (RunFeature* feature : features_) feature->model_chosen(state_);
    prepare_and_listen(model);
    options.until = horizon_of(model);
    for (RunFeature* feature : features_) feature->model_prepared(state_);
    options = read_options(arguments_, model, options);
    apply_metric_options(model, options);
    unused_ = note_unused_options(*state_.info, options);
    state_.engine = state_.info->make();
    state_.watching.tick_seconds = model.tick_seconds();
    state_.watching.horizon_seconds =
        static_cast<double>(options.until.ticks()) * model.tick_seconds();
    state_.watching.show_progress = !arguments_.quiet && ranks_.is_first();
    for (RunFeature* feature : features_) feature->check(state_);
    if (const std::string why = state_.engine->refusal(model, options); !why.empty())
      throw UsageError(refusal_sentence(*state_.info, why));
    for (RunFeature* feature : features_) feature->prepare(state_);
  }

  /// Prepares the model and notes the input files that were read.
  void prepare_and_listen(Model& model) {
    InputDigests inputs = arguments_.inputs;
    const Listening listening(inputs);
    prepare_model(model, state_.model_seed);
    record_.inputs = inputs.files();
  }

  /// The writer of rows; null if the run writes none.
  RowWriter* open_rows() {
    RowWriter* writer = nullptr;
    if (folder_) {
      files_.emplace(*folder_, state_.model());
      if (state_.model().has_rows()) writer = &*files_;
    }
    for (RunFeature* feature : features_) writer = feature->rows(state_, writer);
    return writer;
  }

  /// Tells the features that the engine has ended, also by an exception.
  struct Leaving {
    ~Leaving() {
      for (RunFeature* feature : run.features_) feature->leave(run.state_);
      run.state_.watch = nullptr;
      run.state_.rows = nullptr;
    }
    LocalRun& run;
  };

  /// Runs the engine under observation. Returns the signal that ended the run, 0 if none did.
  int run_engine() {
    RunControl& control = state_.control;
    // The first object, since it blocks signals for all threads that start after it.
    Watch watch(control, state_.watching);
    const ThreadWatch watched(control.threads, *record_.model);
    // A run whose results cannot be kept is not worth its time.
    const auto stop = [&control] { control.stop_requested.store(true, std::memory_order_relaxed); };
    std::optional<RowStore> store;
    if (RowWriter* const writer = open_rows()) store.emplace(*writer, stop);
    {
      const Leaving leaving{*this};
      state_.watch = &watch;
      state_.rows = store ? &*store : nullptr;
      control.rows = state_.rows;
      for (RunFeature* feature : features_) feature->begin(state_);
      const auto start = Clock::now();
      record_.result = run_supervised(*state_.engine, *record_.model, record_.options, control);
      record_.wall_seconds = std::chrono::duration<double>(Clock::now() - start).count();
      if (store)
        store->close(record_.result.end == RunEnd::failed ? RowStore::Rest::dropped
                                                          : RowStore::Rest::written);
      for (RunFeature* feature : features_) feature->rows_closed(state_);
    }
    watch.stop();
    record_.progress = watch.progress(record_.result);
    return watch.signal();
  }

  int run_and_report() {
    int signal = 0;
    try {
      signal = run_engine();
      if (state_.ranks != nullptr && record_.result.end == RunEnd::failed) {
        drop_files();
        return ranks_.abandon(record_.result.fault);
      }
      for (RunFeature* feature : features_) feature->end(state_);
    } catch (const UsageError&) {  // the other ranks go on to part(), too
      ranks_.part();
      if (!ranks_.is_first()) throw ToldByRank0();
      throw;
    }
    ranks_.part();
    if (!ranks_.is_first()) throw ToldByRank0();
    if (!unused_.empty()) state_.add_note(unused_);
    if (survived_.deaths > 0) state_.add_note(survived_.text());
    for (const std::string& note : state_.model().notes()) state_.add_note(note);
    record_.peak_resident_bytes = peak_resident_bytes();
    if (record_.result.end != RunEnd::failed)
      record_.derived = derive_values(*record_.model, record_.result);
    if (files_) files_->publish(record_);
    const ToldAtLast trouble{state_.trouble()};
    for (RunFeature* feature : features_) feature->published(state_);
    show();
    if (record_.result.end == RunEnd::fault) return kExitFault;
    if (record_.result.end == RunEnd::failed) return kExitSystem;
    if (!state_.mismatch.empty()) return kExitMismatch;
    return signal != 0 && !record_.complete() ? kExitSignal + signal : kExitOk;
  }

  /// Prints an error behind the results, also if the results cannot be printed.
  struct ToldAtLast {
    const std::string& sentence;
    ~ToldAtLast() {
      if (!sentence.empty()) fmt::print(stderr, "orrery: {}\n", sentence);
    }
  };

  void show() const {
    if (arguments_.json) {
      print_out("{}", report_json(record_));
    } else {
      print_out("{}", summary_text(record_, Terminal::of(STDOUT_FILENO),
                                   arguments_.verbose ? Detail::figures : Detail::results));
      if (folder_) {
        print_out("\nresults in {}:", state_.out);
        for (const std::string& name : record_.files) print_out(" {}", name);
        print_out(" {}\n", kReportName);
      }
      print_out("{}", state_.farewell);
    }
    flush_out();
  }

  /// Removes unfinished results: a rank that gives up ends this process without destructors.
  void drop_files() {
    for (RunFeature* feature : features_) feature->failed();
    files_.reset();
    folder_.reset();
  }

  const RunArguments& arguments_;
  const Features& features_;
  RankSession& ranks_;
  const Survived survived_;
  RunState state_;
  RunRecord& record_ = state_.record;
  std::optional<OutputFolder> folder_;  ///< of --out, on the first rank
  std::optional<ResultFiles> files_;
  std::string unused_;  ///< options that nothing used
};

constexpr Entry kRunFiles[] = {
    {"DIR/report.json",
     "The run and its results. It is written last, when all other files are complete."},
    {"DIR/results.sqlite", "The same with all tables, for queries."},
    {"DIR/TABLE.csv", "Each table of the model."},
    {"DIR/captures.pcapng", "The bytes that the model captured, for Wireshark."},
    {"FILE", "With --trace: the trace, for ui.perfetto.dev and 'orrery trace'."},
    {"DIR/snapshots", "The last two snapshots, for 'orrery resume' and 'orrery fork'."},
};

constexpr CommandText kRunText = {
    .name = "run",
    .summary = "Run a model",
    .operands = "MODEL [OPTIONS]",
    .prose =
        R"(Prints the results, and with --out writes them to a folder. Ctrl-C ends the run at its next commit
point and reports the committed results; a second Ctrl-C ends the run at once.)",
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
    .summary = "Resume a run from its last snapshot",
    .operands = "DIR [OPTIONS]",
    .prose =
        R"(The run continues in its own folder, with its own parameters, seed and horizon, on any engine and any
number of workers. The results are those of a run without the interruption.)",
    .examples = R"(orrery run traffic --out results/day --snapshot-every 1h
orrery resume results/day
orrery resume results/day --engine timewarp --workers 4
orrery snapshot info results/day)",
    .files = kRunFiles};

constexpr CommandText kForkText = {
    .name = "fork",
    .summary = "Begin a changed run at a snapshot of another run",
    .operands = "DIR --out NEW [OPTIONS]",
    .prose =
        R"(For what-if runs from one warm-up. The new run begins with the state of the other run. It may have
another seed, and other values of the parameters that 'orrery describe MODEL' marks.)",
    .examples = R"(orrery run pcs --out results/warm --snapshot-at 1h --end-after-snapshot
orrery fork results/warm --out results/what-if --seed 7)",
    .files = kRunFiles};

/// `run`, and `resume` and `fork`, where a folder stands in the place of a model.
class RunCommand final : public Command {
 public:
  RunCommand(const CommandText& text, Beginning beginning)
      : Command(text), beginning_(beginning), features_(beginning) {}

  void declare(OptionTable& options) override {
    if (beginning_ == Beginning::model)
      declare_model(options, arguments_);
    else
      options.operands("DIR", arguments_.words, "Folder of a run with snapshots");
    options.value("--engine", arguments_.engine, "ENGINE", "Engine ('orrery list'; auto)");
    declare_run_options(options, arguments_);
    declare_set(options, arguments_);
    declare_config(options, arguments_);
    declare_output(options, arguments_);
    options.flag("--verbose", arguments_.verbose, "Show all figures of the engine");
    for (RunFeature* feature : features_) feature->declare(options);
    rank_request_.declare(options);
  }

  std::vector<std::string> replaced(const OptionTable& options,
                                    std::vector<std::string> words) override {
    return beginning_ == Beginning::model ? features_.replay.replaced(options, std::move(words))
                                          : words;
  }

  int run(OptionTable& options, const Invocation& call) override {
    if (beginning_ != Beginning::model) take_folder();
    complete_request(options, arguments_, text().name,
                     [this](const std::string& flag) { return features_.replay.ignores(flag); });
    SnapshotSession& snapshots = features_.snapshots;
    if (rank_request_.survive) snapshots.take_some();
    snapshots.fix_addresses();
    const std::string& out = beginning_ == Beginning::snapshot ? arguments_.folder : arguments_.out;
    if (const std::optional<int> code =
            launch_ranks(rank_request_, call.argv, snapshots.takes_snapshots() ? out : ""))
      return *code;
    const Survived survived = Survived::take();
    if (survived.from_snapshot) snapshots.go_on();
    ranks_.emplace(rank_request_);
    try {
      return run_.emplace(arguments_, call, features_, *ranks_, survived).execute();
    } catch (const ToldByRank0&) {
      return kExitOk;
    } catch (const transport::RankFailure& failure) {
      return ranks_->abandon(failure);
    }
  }

 private:
  /// The folder is the first word, since its name may contain "=", and pairs that follow a --set
  /// are words, too.
  void take_folder() {
    if (arguments_.words.empty())
      throw UsageError(
          fmt::format("which run? 'orrery {} DIR' needs the folder of its results", text().name));
    arguments_.folder = arguments_.model = arguments_.words.front();
    arguments_.words.erase(arguments_.words.begin());
  }

  const Beginning beginning_;
  RunArguments arguments_;
  RankRequest rank_request_;
  std::optional<RankSession> ranks_;
  std::optional<LocalRun> run_;
  Features features_;  ///< destroyed first: they refer to the model and to the run's control
};

const CommandEntry kRunEntry(3, []() -> std::unique_ptr<Command> {
  return std::make_unique<RunCommand>(kRunText, Beginning::model);
});
const CommandEntry kResumeEntry(4, []() -> std::unique_ptr<Command> {
  return std::make_unique<RunCommand>(kResumeText, Beginning::snapshot);
});
const CommandEntry kForkEntry(5, []() -> std::unique_ptr<Command> {
  return std::make_unique<RunCommand>(kForkText, Beginning::fork);
});

}  // namespace
}  // namespace orrery::cli
