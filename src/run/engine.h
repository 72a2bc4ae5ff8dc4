// SPDX-License-Identifier: Apache-2.0
//
// The boundary between engines and everything else: what a run is asked for (`RunOptions`), what it
// can be told and asked while it runs (`RunControl`), and what it leaves (`RunResult`). An engine
// is one folder that registers one factory here; nothing in this folder knows which engines exist.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/rows.h"
#include "orrery/model.h"
#include "run/options.h"

namespace orrery {

/// Shared by the engine and those who watch it. All counters are written by the engine with relaxed
/// stores and read with relaxed loads: each is a statistic of its own, and no reader infers one
/// from another.
struct RunControl {
  std::atomic<bool> stop_requested{false};  ///< set once; the engine ends at its next commit point
  std::atomic<std::int64_t> gvt_ticks{0};
  std::atomic<std::uint64_t> committed{0};
  std::atomic<std::uint64_t> executed{0};
  std::atomic<std::uint64_t> memory_bytes{0};  ///< events, checkpoints and LP memory held
  RowSink* rows = nullptr;                     ///< may be null: rows are dropped
};

enum class RunEnd { completed, interrupted, fault };

/// A figure of the engine's own, for the report.
struct Statistic {
  std::string name, unit, help;
  double value = 0;
};

struct RunResult {
  RunEnd end = RunEnd::completed;
  std::string fault;  ///< a sentence, if end == fault
  Time reached;       ///< everything before this time is committed
  std::uint64_t committed = 0;
  std::uint64_t executed =
      0;  ///< committed + rolled back; re-executions while coasting not counted
  std::uint64_t fingerprint = 0;
  double startup_seconds = 0, loop_seconds = 0, shutdown_seconds = 0;
  std::uint64_t peak_memory_bytes = 0;  ///< what the engine held at most, where it keeps count
  unsigned workers = 1;
  std::vector<Summary> metrics;       ///< in the model's order
  std::vector<Statistic> statistics;  ///< of the engine
  std::vector<std::string> notes;     ///< what was degraded and why
};

class Engine {
 public:
  virtual ~Engine() = default;
  /// Runs a prepared model. Throws UsageError for options that it cannot honour.
  virtual RunResult run(const Model& model, const RunOptions& options, RunControl& control) = 0;
};

/// What an engine is for.
enum class EngineUse : std::uint8_t {
  results,    ///< running models; `orrery compare` takes these unless told otherwise
  diagnosis,  ///< examining models; its speed is compared with nobody's
};

struct EngineInfo {
  std::string name, summary;
  std::unique_ptr<Engine> (*make)();
  OptionList (*options)();  ///< that it honours, the universal ones left out
  EngineUse use;

  bool honours(const OptionBase& option) const;
};

/// The engines that are linked in, in order of registration by name.
const std::vector<EngineInfo>& engines();
/// Throws UsageError with the near matches if there is none of that name.
const EngineInfo& find_engine(std::string_view name);

/// What these options ask for and the engine would leave undone.
OptionList unused_options(const EngineInfo& engine, const RunOptions& options);
/// "engine sequential does not use --window and --memory", or nothing. An engine for diagnosis says
/// nothing of models that were run otherwise than asked: for it this is a UsageError.
std::string note_unused_options(const EngineInfo& engine, const RunOptions& options);

struct EngineRegistration {
  /// `options`: those that the engine honours, besides the universal ones. It is called when all
  /// options exist.
  EngineRegistration(
      std::string name, std::string summary, std::unique_ptr<Engine> (*make)(),
      OptionList (*options)() = [] { return OptionList(); }, EngineUse use = EngineUse::results);
};

}  // namespace orrery
