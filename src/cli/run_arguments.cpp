// SPDX-License-Identifier: Apache-2.0
#include "cli/run_arguments.h"

#include <fmt/format.h>

#include <charconv>

#include "orrery/error.h"

namespace orrery::cli {
namespace {

void declare_snapshots(OptionTable& options, SnapshotArguments& arguments) {
  options.group("Snapshots, for 'orrery resume' and 'orrery fork' (with --out)");
  options.value("--snapshot-every", arguments.every, "TIME",
                "One at each multiple of a simulated time");
  options.value("--snapshot-at", arguments.at, "TIME,...", "One at simulated times");
  options.value("--snapshot-wall", arguments.wall, "TIME",
                "One each time that the clock has gone on by that");
  options.value("--snapshot-share", arguments.share, "SHARE",
                "The most of the run's time that those may take (0.03)");
  options.flag("--snapshots", arguments.on,
               "One at Ctrl-C and at the signal USR1, as with all of the above");
  options.flag("--snapshot-check", arguments.check,
               "Resume the first one in another process up to the second, and compare");
  options.flag("--end-after-snapshot", arguments.end_after,
               "End the run after the last one of --snapshot-at");
  options.group("");
}

void declare_trace(OptionTable& options, TraceArguments& arguments) {
  options.group("Trace, for ui.perfetto.dev and 'orrery trace'");
  options.value("--trace", arguments.file, "FILE",
                "Committed events with their causes, and what each worker did when");
  options.value("--trace-lps", arguments.lps, "LPS",
                "Events of these LPs alone, such as 0..3,7 (all)");
  options.value("--trace-from", arguments.from, "TIME",
                "Events from this simulated time on (the start)");
  options.value("--trace-to", arguments.to, "TIME", "Events before this simulated time (the end)");
  options.value("--trace-size", arguments.size, "SIZE", "The most that the file may take (256MiB)");
  options.group("");
}

/// The options of a run, from the start or from a snapshot.
void declare_common(OptionTable& options, RunArguments& arguments) {
  options.value("--engine", arguments.engine, "ENGINE", "Engine ('orrery list'; auto)");
  declare_run_options(options, arguments);
  declare_set(options, arguments);
  declare_config(options, arguments);
  declare_output(options, arguments);
  options.flag("--verbose", arguments.verbose, "Show all figures of the engine");
  declare_snapshots(options, arguments.snapshots);
  declare_trace(options, arguments.trace);
  options.flag_with_value("--live", "0", arguments.live, "PORT",
                          "Show the run in a browser on this machine while it goes on; --live=PORT "
                          "names the port");
  options.value("--ranks", arguments.ranks, "N",
                "Processes on this machine that run the model together (1)");
  options.value("--mpi", arguments.mpi, "openmpi|mpich",
                "MPI library of the launcher that has started this (the one that the environment "
                "names)");
}

}  // namespace

void declare_run(OptionTable& options, RunArguments& arguments) {
  declare_model(options, arguments);
  declare_common(options, arguments);
  options.value("--again", arguments.again, "FILE",
                "Repeat the run of this report.json, or of the folder with it, and compare");
}

void declare_resume(OptionTable& options, ResumeArguments& arguments) {
  options.operands("DIR", arguments.words, "Folder of a run with snapshots");
  options.value("--snapshot", arguments.snapshot, "N", "Number of the snapshot (the last one)");
  declare_common(options, arguments);
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

}  // namespace orrery::cli
