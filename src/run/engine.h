// SPDX-License-Identifier: Apache-2.0
//
// The interface between engines and the rest: the input of a run (`RunOptions`), its control and
// progress (`RunControl`), and its result (`RunResult`). An engine is one folder that registers one
// factory here; nothing in this folder knows which engines exist.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/mergeable_statistics.h"
#include "core/rows.h"
#include "orrery/model.h"
#include "run/containment/activity.h"
#include "run/edge_kind.h"
#include "run/options/options.h"
#include "run/rounds/clock_halts.h"

namespace orrery {

class RunHalts;
class TraceRecorder;
class WorldOrigin;
namespace transport {
class RankTransport;
}

/// Shared by the engine and its observers. The engine writes all counters with relaxed stores,
/// readers use relaxed loads: each is a statistic of its own, and no reader infers one from
/// another.
struct RunControl {
  std::atomic<bool> stop_requested{false};  ///< set once; the engine ends at its next commit point
  /// In a run with halts (halts.h): the engine is to pause at its next commit point, so that the
  /// world is kept, the run ends there, or an observer looks at the world. Set by `request_halt`;
  /// engines load `halt_requested` relaxed.
  std::atomic<bool> halt_requested{false};
  std::atomic<bool> keep_at_halt{false}, stop_at_halt{false}, look_at_halt{false};
  ClockHalts clock_halts;  ///< when the clock may request a halt
  std::atomic<std::int64_t> gvt_ticks{0};
  std::atomic<std::uint64_t> committed{0};
  std::atomic<std::uint64_t> executed{0};
  std::atomic<std::uint64_t> memory_bytes{0};  ///< events, checkpoints and LP memory held
  /// The current engine of a run that changes engines: a name of the registry; else null.
  std::atomic<const char*> engine{nullptr};
  std::atomic<unsigned> workers{0};
  RowSink* rows = nullptr;  ///< may be null: rows are dropped
  /// For a run that halts on its way, and for a run that begins elsewhere (halts.h); else null.
  /// Only engines that work on worlds use them.
  RunHalts* halts = nullptr;
  WorldOrigin* origin = nullptr;
  /// The connection to the other ranks of the run; null if there are none. RunOptions::place
  /// agrees.
  transport::RankTransport* ranks = nullptr;
  TraceRecorder* trace = nullptr;  ///< of a traced run (trace_recorder.h); else null
  /// Whether handlers produce anything for `rows`.
  bool takes_rows(const Model& model) const {
    return rows != nullptr && (trace != nullptr || model.has_rows());
  }
  WatchedThreads threads;  ///< threads that may execute handlers

  /// Publishes the progress: everything before `gvt` is committed. Called several times a second, by
  /// one thread of the engine.
  void publish(Time gvt, std::uint64_t committed_events, std::uint64_t executed_events,
               std::uint64_t bytes) {
    gvt_ticks.store(gvt.ticks(), std::memory_order_relaxed);
    committed.store(committed_events, std::memory_order_relaxed);
    executed.store(executed_events, std::memory_order_relaxed);
    memory_bytes.store(bytes, std::memory_order_relaxed);
  }

  /// By any thread; `reason`: one of the three. The exchange releases the reason and continues the
  /// release sequence of earlier requests, so the taker of the request sees all reasons up to then.
  void request_halt(std::atomic<bool>& reason) {
    reason.store(true, std::memory_order_relaxed);
    halt_requested.exchange(true, std::memory_order_release);
  }
  /// Called by the halting code before it reads the reasons: a later reason causes a halt of its
  /// own.
  void take_halt_request() { halt_requested.exchange(false, std::memory_order_acquire); }
};

enum class RunEnd {
  completed,
  interrupted,
  fault,
  /// At a cut: everything below a key is committed and nothing at or above it executed. An engine
  /// returns its world in this way before the run ends; no run has it as its result.
  paused,
  failed  ///< by the system: no memory, no threads; the result holds only what is certain
};

/// A figure of an engine, for the report.
struct Statistic {
  std::string name, unit, help;
  double value = 0;
  bool adds_up = false;  ///< over periods of a run; else the last value counts
};

/// Adds a figure to those of earlier parts of a run, or a note that is not in the list yet.
void add_statistic(std::vector<Statistic>& sum, Statistic one);
void add_note(std::vector<std::string>& notes, const std::string& note);

/// A part of a run that changes engines.
struct EnginePeriod {
  std::string engine;
  unsigned workers = 1;
  std::string why;           ///< "trial", for instance
  double begin_seconds = 0;  ///< since the first period began
  double seconds = 0;        ///< including taking and returning the world
  double loop_seconds = 0;   ///< seconds of execution among these
  std::uint64_t committed = 0;
  std::uint64_t slices = 1;  ///< number of times that the engine took the world
};

/// The result of a run, or of a part of a run.
struct RunResult {
  RunEnd end = RunEnd::completed;
  std::string fault;  ///< a sentence, if end is fault or failed
  Time reached;       ///< everything before this time is committed
  std::uint64_t committed = 0;
  std::uint64_t executed =
      0;  ///< committed + rolled back; re-executions while coasting forward not counted
  std::uint64_t fingerprint = 0;
  /// For a run that began elsewhere (halts.h): its progress until then.
  std::uint64_t committed_before = 0;
  Time begun = Time::zero();
  double startup_seconds = 0, loop_seconds = 0, shutdown_seconds = 0;
  std::uint64_t peak_memory_bytes = 0;  ///< peak of the engine, if it counts
  unsigned workers = 1;                 ///< of each rank; of this one where they differ
  unsigned ranks = 1;                   ///< the other fields are complete at rank 0 only
  std::vector<Summary> metrics;         ///< in the model's order
  std::vector<LevelSummary> levels;     ///< in the same order; empty if the run has no metrics
  std::vector<LpFigures> lp_figures;    ///< likewise; of the LPs of a metric's recording
  std::optional<MergeableStatistics>
      mergeable_statistics;           ///< histograms and series; empty likewise
  std::vector<Statistic> statistics;  ///< of the engine
  std::string account;                ///< summary of the run for the terminal, in one sentence
  std::vector<EnginePeriod> periods;  ///< of a run that changed engines
  std::vector<EdgeKind> edges;        ///< of an engine that surveys sends
  std::vector<std::string> notes;     ///< degradations and their reasons

  /// Adds a further period of this engine with the world: how it ended, and its counts.
  /// `begin_seconds`: since the engine first took the world.
  void add_part(RunResult part, double begin_seconds);
};

class Engine {
 public:
  virtual ~Engine() = default;
  /// Why the engine cannot run this model with these options: a clause for "engine X cannot run
  /// this model: ...". Empty if it can. The model is prepared.
  virtual std::string refusal(const Model&, const RunOptions&) const { return {}; }
  /// Whether the engine can run over several ranks (RunControl::ranks).
  virtual bool spans_ranks() const { return false; }
  /// Runs a prepared model. Throws UsageError for options that the engine cannot honour.
  virtual RunResult run(const Model& model, const RunOptions& options, RunControl& control) = 0;
};

/// The purpose of an engine.
enum class EngineUse : std::uint8_t {
  results,    ///< running models; `orrery compare` takes these unless told otherwise
  diagnosis,  ///< examining models; its speed is not compared
};

struct EngineInfo {
  std::string name, summary;
  std::unique_ptr<Engine> (*make)();
  OptionList (*options)();  ///< that the engine honours, without the universal ones
  EngineUse use;

  bool honours(const OptionBase& option) const;
};

/// The linked engines, sorted by name.
const std::vector<EngineInfo>& engines();
/// "engine X cannot run this model: ...", with the reason of Engine::refusal.
std::string refusal_sentence(const EngineInfo& engine, const std::string& why);
/// Throws UsageError with the near matches if there is no engine of that name.
const EngineInfo& find_engine(std::string_view name);

/// The set options that the engine would ignore.
OptionList unused_options(const EngineInfo& engine, const RunOptions& options);
/// "engine sequential does not use --window and --memory", or nothing. For an engine for diagnosis
/// it throws a UsageError instead, since its findings must hold for the requested run.
std::string note_unused_options(const EngineInfo& engine, const RunOptions& options);

struct EngineRegistration {
  /// `options`: those that the engine honours, besides the universal ones. Called after all options
  /// exist.
  EngineRegistration(
      std::string name, std::string summary, std::unique_ptr<Engine> (*make)(),
      OptionList (*options)() = [] { return OptionList(); }, EngineUse use = EngineUse::results);
};

}  // namespace orrery
