// SPDX-License-Identifier: Apache-2.0
//
// --trace of a run, in the order in which the run needs it: whatever can be refused, what records
// while it lasts, and the file at the end.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/run_arguments.h"
#include "observe/row_store.h"
#include "observe/run_record.h"
#include "run/trace_recorder.h"
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
  /// What ranks must have in common of it.
  std::string facts_text() const;

  void begin(RunControl& control);
  /// Where the run's rows go: into the trace, and those of the model to `next`, which may be null.
  /// That itself if the run is not traced here.
  RowWriter* before(RowWriter* next);
  /// The run is over: what the record says of the trace. By all ranks, `ranks` null if there is
  /// one.
  void end(RunRecord& record, transport::RankTransport* ranks);
  /// The results are on the disk: the trace, too. Throws UsageError if it cannot be written.
  void publish();
  /// For the terminal; empty: there is none.
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
