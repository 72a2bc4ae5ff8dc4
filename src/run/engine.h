// SPDX-License-Identifier: Apache-2.0
//
// The boundary between engines and everything else: what a run is asked for (`RunOptions`), what it
// can be told and asked while it runs (`RunControl`), and what it leaves (`RunResult`). An engine
// is one folder that registers one factory here; nothing in this folder knows which engines exist.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/rows.h"
#include "core/tally.h"
#include "orrery/model.h"
#include "run/activity.h"
#include "run/clock_halts.h"
#include "run/edge_kind.h"
#include "run/options.h"

namespace orrery {

class RunHalts;
class TraceRecorder;
class WorldOrigin;
namespace transport {
class RankTransport;
}

/// Shared by the engine and those who watch it. All counters are written by the engine with relaxed
/// stores and read with relaxed loads: each is a statistic of its own, and no reader infers one
/// from another.
struct RunControl {
  std::atomic<bool> stop_requested{false};  ///< set once; the engine ends at its next commit point
  /// Of a run with halts (halts.h): the engine is to pause at its next commit point. What for:
  /// the world is to be kept, the run is to end there, somebody wants to look at the world. Set by
  /// `request_halt`; engines look at the first with relaxed loads.
  std::atomic<bool> halt_requested{false};
  std::atomic<bool> keep_at_halt{false}, stop_at_halt{false}, look_at_halt{false};
  ClockHalts clock_halts;  ///< when the clock may be such a reason
  std::atomic<std::int64_t> gvt_ticks{0};
  std::atomic<std::uint64_t> committed{0};
  std::atomic<std::uint64_t> executed{0};
  std::atomic<std::uint64_t> memory_bytes{0};  ///< events, checkpoints and LP memory held
  /// Of the moment, where a run goes from engine to engine: a name of the registry; else null.
  std::atomic<const char*> engine{nullptr};
  std::atomic<unsigned> workers{0};
  RowSink* rows = nullptr;  ///< may be null: rows are dropped
  /// Of a run that halts on its way, and of one that begins elsewhere (halts.h); else null. Only
  /// engines that work on worlds look.
  RunHalts* halts = nullptr;
  WorldOrigin* origin = nullptr;
  /// To the other ranks of the run; null: there are none. Then RunOptions::place says the same.
  transport::RankTransport* ranks = nullptr;
  TraceRecorder* trace = nullptr;  ///< of a run that is traced (trace_recorder.h); else null
  /// Whether handlers give out anything that goes to `rows`.
  bool takes_rows(const Model& model) const {
    return rows != nullptr && (trace != nullptr || !model.tables().empty());
  }
  WatchedThreads threads;  ///< those that may execute handlers

  /// By any thread; `reason`: one of the three. The exchange releases the reason and carries on
  /// what an earlier one has released, so whoever takes the request sees all reasons up to then.
  void request_halt(std::atomic<bool>& reason) {
    reason.store(true, std::memory_order_relaxed);
    halt_requested.exchange(true, std::memory_order_release);
  }
  /// By who halts, before it looks at reasons: one that comes later has a halt of its own.
  void take_halt_request() { halt_requested.exchange(false, std::memory_order_acquire); }
};

enum class RunEnd {
  completed,
  interrupted,
  fault,
  /// At a cut: everything below a key is committed and nothing at or above it executed. So an
  /// engine gives its world back before the run ends; no result of a run has it.
  paused,
  failed  ///< by the system: no memory, no threads; of the run only what is certain is told
};

/// A figure of the engine's own, for the report.
struct Statistic {
  std::string name, unit, help;
  double value = 0;
  bool adds_up = false;  ///< over periods of a run: else the last one's counts
};

/// Adds a figure to those of earlier parts of a run, or a note that is not there yet.
void add_statistic(std::vector<Statistic>& sum, Statistic one);
void add_note(std::vector<std::string>& notes, const std::string& note);

/// A part of a run that goes from engine to engine.
struct EnginePeriod {
  std::string engine;
  unsigned workers = 1;
  std::string why;           ///< "trial", for instance
  double begin_seconds = 0;  ///< since the first period began
  double seconds = 0;        ///< with taking the world and giving it back
  double loop_seconds = 0;   ///< of these, executing
  std::uint64_t committed = 0;
  std::uint64_t slices = 1;  ///< times that the engine took the world
};

/// What is left of a run, or of a part of one.
struct RunResult {
  RunEnd end = RunEnd::completed;
  std::string fault;  ///< a sentence, if end is fault or failed
  Time reached;       ///< everything before this time is committed
  std::uint64_t committed = 0;
  std::uint64_t executed =
      0;  ///< committed + rolled back; re-executions while coasting not counted
  std::uint64_t fingerprint = 0;
  /// Of a run that began elsewhere (halts.h): how far it had come by then.
  std::uint64_t committed_before = 0;
  Time begun = Time::zero();
  double startup_seconds = 0, loop_seconds = 0, shutdown_seconds = 0;
  std::uint64_t peak_memory_bytes = 0;  ///< what the engine held at most, where it keeps count
  unsigned workers = 1;                 ///< of each rank; of this one where they differ
  unsigned ranks = 1;                   ///< what else is told is told at rank 0
  std::vector<Summary> metrics;         ///< in the model's order
  std::vector<LevelSummary> levels;     ///< in the same; empty of a run that has no metrics
  std::optional<Tally> tally;           ///< what else metrics have counted; empty likewise
  std::vector<Statistic> statistics;    ///< of the engine
  std::string account;                  ///< how it went by these, in one sentence for the terminal
  std::vector<EnginePeriod> periods;    ///< of a run that went from engine to engine
  std::vector<EdgeKind> edges;          ///< of an engine that surveys sends
  std::vector<std::string> notes;       ///< what was degraded and why

  /// The engine has had the world once more: how it ended, and what it counted meanwhile. `begin`:
  /// seconds since it had it first.
  void add_part(RunResult part, double begin_seconds);
};

class Engine {
 public:
  virtual ~Engine() = default;
  /// Why it cannot run this model as asked: a clause for "engine X cannot run this model: ...".
  /// Empty if it can. The model is prepared.
  virtual std::string refusal(const Model&, const RunOptions&) const { return {}; }
  /// Whether it can run over several ranks (RunControl::ranks).
  virtual bool spans_ranks() const { return false; }
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
/// "engine X cannot run this model: ...", for what Engine::refusal says.
std::string refusal_sentence(const EngineInfo& engine, const std::string& why);
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
