// SPDX-License-Identifier: Apache-2.0
//
// All facts about a run that has ended: its options, its results, its machine. The report file, the
// database and the summary on the terminal show this record.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/model.h"
#include "output/host.h"
#include "output/progress_log.h"
#include "run/engine.h"

namespace orrery {

/// A value that the model derived from its metrics.
struct DerivedValue {
  std::string name;
  double value = 0;
  std::string unit, help;
  std::optional<std::string> text = {};  ///< instead of `value`
};

/// A file that the model, or the command for it, has read.
struct InputFile {
  std::string path;
  std::uint64_t bytes = 0;
  std::string digest;  ///< output/input_digest.h
};

struct RunRecord {
  const Model* model = nullptr;
  std::string revision;  ///< of the source of the command; empty: unknown
  std::string model_name;
  std::string model_path;            ///< of a shared object; else empty
  std::vector<std::string> command;  ///< the words behind "orrery"; empty where there are none
  std::vector<InputFile> inputs;     ///< in the order in which they were first read
  std::string engine;
  RunOptions options;
  std::string started;  ///< UTC, ISO 8601
  RunResult result;
  std::vector<DerivedValue> derived;
  HostFacts host;
  double wall_seconds = 0;  ///< the engine's run, from start-up to shut-down
  std::uint64_t peak_resident_bytes = 0;
  std::vector<ProgressPoint> progress;
  std::string back_end;            ///< the transport of the ranks; empty: one rank
  std::vector<std::string> hosts;  ///< of the ranks; empty: one rank
  std::vector<std::string> files;  ///< names within the output folder

  /// The snapshots of a run that can be resumed.
  struct Snapshots {
    unsigned last = 0;      ///< number of the last one; 0: none
    std::string last_time;  ///< "12.5 s (tick 12500000000)"
    std::string resumed;    ///< the time of the snapshot where it began; empty: none
    std::string forked;     ///< the folder of that snapshot, if not its own
  };
  std::optional<Snapshots> snapshots;

  bool complete() const { return result.end == RunEnd::completed; }
  double efficiency() const;
  double events_per_second() const;     ///< committed events, per second of the engine's loop
  double simulated_per_second() const;  ///< simulated seconds per wall-clock second of the loop
  double reached_seconds() const;
};

/// "completed", "interrupted", "fault", "failed" or "paused".
const char* run_end_text(RunEnd end);

/// Asks the model for its derived values. An exception from the model is a ModelFault.
std::vector<DerivedValue> derive_values(const Model& model, const RunResult& result);

/// "2024-05-01T12:30:00Z"
std::string utc_now();

}  // namespace orrery
