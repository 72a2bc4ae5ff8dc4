// SPDX-License-Identifier: Apache-2.0
//
// Everything that is known of a run when it is over: what was asked for, what came out, where it
// ran. The report file, the database and the summary on the terminal are three views of it.
#pragma once

#include <string>
#include <vector>

#include "observe/host.h"
#include "orrery/model.h"
#include "run/engine.h"

namespace orrery {

/// A value that the model derived from its metrics.
struct DerivedValue {
  std::string name;
  double value = 0;
  std::string unit, help;
};

struct RunRecord {
  const Model* model = nullptr;
  std::string model_name;
  std::string model_path;  ///< of a shared object; else empty
  std::string engine;
  RunOptions options;
  std::string started;  ///< UTC, ISO 8601
  RunResult result;
  std::vector<DerivedValue> derived;
  HostFacts host;
  double wall_seconds = 0;  ///< the engine's run, from start-up to shut-down
  std::uint64_t peak_resident_bytes = 0;
  std::vector<std::string> files;  ///< names within the output folder

  bool complete() const { return result.end == RunEnd::completed; }
  double efficiency() const;
  double events_per_second() const;     ///< committed, of the loop alone
  double simulated_per_second() const;  ///< simulated seconds per wall-clock second of the loop
  double reached_seconds() const;
};

/// "completed", "interrupted", "fault" or "failed".
const char* run_end_text(RunEnd end);

/// Asks the model for its derived values. An exception from the model is a ModelFault.
std::vector<DerivedValue> derive_values(const Model& model, const RunResult& result);

/// "2024-05-01T12:30:00Z"
std::string utc_now();

}  // namespace orrery
