// SPDX-License-Identifier: Apache-2.0
//
// --trace of a run, in the order in which the run needs it: the checks of options, the recorder
// during the run, and the file at the end.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/run_arguments.h"
#include "observe/row_store.h"
#include "observe/run_record.h"
#include "run/execution/trace_recorder.h"
#include "trace/committed_events.h"
#include "trace/life.h"
#include "trace/trace_file.h"

namespace orrery::cli {

class Tracing {
 public:
  /// Throws UsageError. `is_first`: this rank writes the file.
  void prepare(const TraceArguments& arguments, const ChosenModel& chosen,
               const RunOptions& options, bool is_first);
  bool is_on() const { return recorder_ != nullptr; }
  /// The trace options, as a text that must be equal on all ranks.
  std::string facts_text() const;

  void begin(RunControl& control);
  /// Returns the writer for the run's rows: it traces committed events and passes the model's rows
  /// to `next`, which may be null. Returns `next` if this rank writes no trace.
  RowWriter* before(RowWriter* next);
  /// Call it on all ranks when the run has ended. Adds notes about the trace to `record`. `ranks`:
  /// null for a run in one process.
  void end(RunRecord& record, transport::RankTransport* ranks);
  /// Gives the trace its final name. Call it when the results are on the disk. Throws UsageError if
  /// the trace cannot be written.
  void publish();
  /// For the terminal; empty: no trace.
  const std::string& sentence() const { return sentence_; }

 private:
  trace::Facts facts_;
  std::uint64_t most_bytes_ = 0, left_out_ = 0;
  std::unique_ptr<TraceRecorder> recorder_;
  std::optional<trace::WallClock> clock_;
  std::optional<trace::TraceFile> file_;
  std::optional<trace::CommittedEvents> events_;
  std::string sentence_;
};

}  // namespace orrery::cli
