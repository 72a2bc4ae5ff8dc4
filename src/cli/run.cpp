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
#include "observe/report.h"
#include "observe/result_files.h"
#include "observe/summary.h"
#include "observe/watch.h"
#include "orrery/error.h"
#include "run/model_checks.h"

namespace orrery::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// Input files are read here: a UsageError is about them, anything else is the model's mistake.
void prepare(Model& model) {
  try {
    model.prepare();
  } catch (const UsageError&) {
    throw;
  } catch (const ModelFault&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& exception) {
    throw ModelFault(fmt::format("model fault in prepare(): {}", exception.what()));
  }
  check_lp_count(model);
}

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
  if (output) control.rows = output->open(*record.model, control);
  const auto start = Clock::now();
  record.result = engine.run(*record.model, record.options, control);
  record.wall_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (output && output->store) output->store->close();
  watch.stop();
  return watch.signal();
}

void show(const RunRecord& record, const RunArguments& arguments) {
  if (arguments.json) {
    fmt::print("{}", report_json(record));
    return;
  }
  fmt::print("{}", summary_text(record, Terminal::of(STDOUT_FILENO)));
  if (arguments.out.empty()) return;
  fmt::print("\nresults in {}:", arguments.out);
  for (const std::string& name : record.files) fmt::print(" {}", name);
  fmt::print(" {}\n", kReportName);
}

}  // namespace

int run_command(const RunArguments& arguments) {
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
  prepare(*chosen.model);
  record.options.until = chosen.model->default_horizon();
  record.options = read_options(arguments, *chosen.model, record.options);
  const std::string unused = note_unused_options(engine, record.options);

  const int signal = execute(record, *engine.make(), control, output, arguments.quiet);
  if (!unused.empty()) record.result.notes.push_back(unused);
  record.peak_resident_bytes = peak_resident_bytes();
  record.derived = derive_values(*chosen.model, record.result);
  if (output) output->files->publish(record);
  show(record, arguments);

  if (record.result.end == RunEnd::fault) {
    std::fflush(stdout);
    fmt::print(stderr, "orrery: {}\n", record.result.fault);
    return kExitFault;
  }
  return signal != 0 && !record.complete() ? kExitSignal + signal : kExitOk;
}

}  // namespace orrery::cli
