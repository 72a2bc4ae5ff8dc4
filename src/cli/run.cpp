// SPDX-License-Identifier: Apache-2.0
//
// orrery run MODEL: one run, from the options to the summary. The order of the steps is that of the
// promises: whatever can be refused is refused before anything is written, and the report appears
// when everything that it speaks of is on the disk.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <optional>

#include "cli/commands.h"
#include "cli/standard_output.h"
#include "observe/report.h"
#include "observe/result_files.h"
#include "observe/summary.h"
#include "observe/watch.h"
#include "orrery/error.h"
#include "run/model_checks.h"
#include "run/supervised_run.h"

namespace orrery::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// The output of a run with --out: the folder, its files, and the store that feeds them.
struct Output {
  Output(const std::string& path, bool force) : folder(path, kReportName, force) {}

  RowSink* open(const Model& model, RunControl& control) {
    files.emplace(folder, model);
    // A run whose results cannot be kept is not worth its time.
    const auto stop = [&control] { control.stop_requested.store(true, std::memory_order_relaxed); };
    if (!model.tables().empty()) store.emplace(*files, stop);
    return store ? &*store : nullptr;
  }

  OutputFolder folder;
  std::optional<ResultFiles> files;
  std::optional<RowStore> store;
};

Watch::Settings watch_settings(const RunRecord& record, bool quiet) {
  Watch::Settings settings;
  settings.tick_seconds = record.model->tick_seconds();
  settings.horizon_seconds =
      static_cast<double>(record.options.until.ticks()) * settings.tick_seconds;
  settings.show_progress = !quiet;
  return settings;
}

/// Runs the engine under observation. Returns the signal that ended the run, 0 if none did.
int execute(RunRecord& record, Engine& engine, RunControl& control, std::optional<Output>& output,
            bool quiet) {
  // First of all: the threads of store and engine must not take the signals that it waits for.
  Watch watch(control, watch_settings(record, quiet));
  const ThreadWatch watched(control.threads, *record.model);
  if (output) control.rows = output->open(*record.model, control);
  const auto start = Clock::now();
  record.result = run_supervised(engine, *record.model, record.options, control);
  record.wall_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (output && output->store) {
    const bool failed = record.result.end == RunEnd::failed;
    output->store->close(failed ? RowStore::Rest::dropped : RowStore::Rest::written);
  }
  watch.stop();
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

/// The fault comes behind the results, also if these cannot be shown.
struct ToldAtLast {
  const std::string& sentence;
  ~ToldAtLast() {
    if (!sentence.empty()) fmt::print(stderr, "orrery: {}\n", sentence);
  }
};

}  // namespace

int run_command(const RunArguments& arguments) {
  require_standard_output();
  const ChosenModel chosen = choose_model(arguments);
  const EngineInfo& engine = choose_engine(arguments);
  RunControl control;  // outlives the store, which may ask for a stop as long as it exists
  std::optional<Output> output;
  if (!arguments.out.empty()) output.emplace(arguments.out, arguments.force);

  RunRecord record;
  record.started = utc_now();
  record.model = chosen.model.get();
  record.model_name = chosen.name;
  record.model_path = chosen.path;
  record.engine = engine.name;
  record.host = HostFacts::now();
  prepare_model(*chosen.model);
  record.options.until =
      call_model("default_horizon()", [&] { return chosen.model->default_horizon(); });
  record.options = read_options(arguments, *chosen.model, record.options);
  const std::string unused = note_unused_options(engine, record.options);

  const std::unique_ptr<Engine> runner = engine.make();
  if (const std::string why = runner->refusal(*chosen.model, record.options); !why.empty())
    throw UsageError(refusal_sentence(engine, why));

  const int signal = execute(record, *runner, control, output, arguments.quiet);
  if (!unused.empty()) record.result.notes.push_back(unused);
  const std::vector<std::string>& of_model = chosen.model->notes();
  record.result.notes.insert(record.result.notes.end(), of_model.begin(), of_model.end());
  record.peak_resident_bytes = peak_resident_bytes();
  if (record.result.end != RunEnd::failed)
    record.derived = derive_values(*chosen.model, record.result);
  if (output) output->files->publish(record);
  const ToldAtLast fault{record.result.fault};
  show(record, arguments);
  flush_out();
  if (record.result.end == RunEnd::fault) return kExitFault;
  if (record.result.end == RunEnd::failed) return kExitSystem;
  return signal != 0 && !record.complete() ? kExitSignal + signal : kExitOk;
}

}  // namespace orrery::cli
