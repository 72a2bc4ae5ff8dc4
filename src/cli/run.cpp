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
#include "cli/commands.h"
#include "cli/live.h"
#include "cli/rank_session.h"
#include "cli/revision.h"
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
#include "run/options/model_checks.h"
#include "run/results/observation.h"
#include "run/threads/supervised_run.h"

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

}  // namespace

// A process that takes or resumes snapshots needs its memory at fixed addresses. So it executes
// itself again for that, before other processes know it.

int run_command(const RunArguments& arguments) {
  std::string resumable;
  if (arguments.snapshots.wanted()) {
    execute_without_random_addresses();
    resumable = arguments.out;
  }
  if (const std::optional<int> code = launch_ranks(arguments, resumable)) return *code;
  return run_with(arguments,
                  [&](auto* ranks) { return std::make_unique<Travel>(arguments, ranks); });
}

int resume_command(const ResumeArguments& arguments) {
  execute_without_random_addresses();
  RunArguments run = arguments;
  if (!arguments.is_fork) run.out = arguments.folder;
  if (const std::optional<int> code = launch_ranks(arguments, run.out)) return *code;
  return run_with(run, [&](auto* ranks) { return std::make_unique<Travel>(arguments, ranks); });
}

}  // namespace orrery::cli
