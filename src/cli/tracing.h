// SPDX-License-Identifier: Apache-2.0
//
// --trace of a run: the checks of options, the recorder during the run, and the file at the end.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/run_feature.h"
#include "run/execution/trace_recorder.h"
#include "trace/committed_events.h"
#include "trace/life.h"
#include "trace/trace_file.h"

namespace orrery::cli {

class Tracing final : public RunFeature {
 public:
  void declare(OptionTable& options) override;
  void prepare(RunState& run) override;
  void add_facts(RunFacts& facts) const override;
  /// Traces committed events, and passes the model's rows to `next`.
  RowWriter* rows(RunState& run, RowWriter* next) override;
  void begin(RunState& run) override;
  /// Gathers the activities of the workers of all ranks. Adds notes about the trace.
  void end(RunState& run) override;
  /// Gives the trace its final name. Throws UsageError if it cannot be written.
  void published(RunState& run) override;
  /// Removes the incomplete file.
  void failed() override;

 private:
  bool is_on() const { return recorder_ != nullptr; }
  TraceScope scope(const Model& model) const;
  void refuse_without_trace() const;

  std::string path_, lps_, from_, to_, size_;  ///< the options
  trace::Facts facts_;
  std::uint64_t most_bytes_ = 0, left_out_ = 0;
  std::unique_ptr<TraceRecorder> recorder_;
  std::optional<trace::WallClock> clock_;
  std::optional<trace::TraceFile> file_;
  std::optional<trace::CommittedEvents> events_;
  std::string sentence_;
};

}  // namespace orrery::cli
