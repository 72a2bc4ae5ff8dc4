// SPDX-License-Identifier: Apache-2.0
//
// A feature of `orrery run` beside model and engine: snapshots, the trace, the live page. A feature
// is one file that declares its options and acts at the steps of a run. run.cpp has the list of the
// features, and executes each step for all of them in the order of the list.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/run_request.h"
#include "output/row_store.h"
#include "output/run_record.h"
#include "output/watch.h"

namespace orrery::cli {

/// The options of run.cpp itself.
struct RunArguments : RunRequest, OutputRequest {
  std::string engine;
  std::string folder;  ///< of the run to resume or to fork; empty: the model's start
  bool verbose = false;
};

/// A run from its options to its end.
struct RunState {
  explicit RunState(const RunArguments& asked) : arguments(asked), out(asked.out) {}

  bool is_first() const { return record.options.place.rank == 0; }  ///< the rank that writes
  Model& model() const { return *chosen.model; }
  /// The error that the command prints behind the results; empty: none.
  const std::string& trouble() const { return mismatch.empty() ? record.result.fault : mismatch; }
  void add_note(const std::string& note) { record.result.notes.push_back(note); }

  const RunArguments& arguments;
  RunControl control;
  transport::RankTransport* ranks = nullptr;  ///< null: this process runs the model alone
  std::string out;                            ///< folder of the results; empty: none
  bool resumes_in_place = false;              ///< the results in the folder are those of this run
  ChosenModel chosen;
  std::uint64_t model_seed = 0;  ///< to prepare the model with
  const EngineInfo* info = nullptr;
  std::unique_ptr<Engine> engine;
  RunRecord record;  ///< with the options
  Watch::Settings watching;
  Watch* watch = nullptr;    ///< during the run
  RowStore* rows = nullptr;  ///< during the run; null: the run writes none
  std::string mismatch;      ///< the run is not the one that it repeats; empty: all is well
  std::string farewell;      ///< for the terminal, behind the results
};

/// Names and values that must be equal on all ranks.
using RunFacts = std::vector<std::pair<std::string, std::string>>;

/// The steps of a run, in their order. Until `begin` all of them may throw UsageError.
class RunFeature {
 public:
  virtual ~RunFeature() = default;

  virtual void declare(OptionTable&) {}
  /// Called before the model is made from `request`; may change `request`.
  virtual void start(RunState&, RunRequest& /*request*/) {}
  /// The model has its parameters, and is not prepared.
  virtual void model_chosen(RunState&) {}
  /// The model is prepared; given options will replace those that are set here.
  virtual void model_prepared(RunState&) {}
  /// Options and engine are known. Refuses impossible options, and creates no file.
  virtual void check(RunState&) {}
  /// All features have checked. Creates files and opens ports; may still refuse options of its own.
  virtual void prepare(RunState&) {}
  virtual void add_facts(RunFacts&) const {}
  /// The writer of rows in front of `next`, which may be null: no rows.
  virtual RowWriter* rows(RunState&, RowWriter* next) { return next; }
  /// The engine is about to make the world and to execute it; a feature may add its halts to
  /// `control.halts`, those of the features before it.
  virtual void begin(RunState&) {}
  /// The engine has ended, and all rows have reached their writer. The watch still obeys signals.
  virtual void rows_closed(RunState&) {}
  /// The engine has ended, in any way; the watch ends next.
  virtual void leave(RunState&) {}
  /// On all ranks, if the run has a result.
  virtual void end(RunState&) {}
  /// The results are in their folder.
  virtual void published(RunState&) {}
  /// The run has ended without a result.
  virtual void failed() {}
};

}  // namespace orrery::cli
