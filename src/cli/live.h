// SPDX-License-Identifier: Apache-2.0
//
// --live of a run: the live page, from the open port to the last answer. The first rank serves the
// page; the other ranks halt together with the first rank.
#pragma once

#include <optional>
#include <string>

#include "cli/run_arguments.h"
#include "live/answers.h"
#include "live/board.h"
#include "live/facts.h"
#include "live/halts.h"
#include "live/server.h"
#include "observe/run_record.h"
#include "observe/watch.h"

namespace orrery::cli {

class Live {
 public:
  Live() = default;
  /// Tells the page's readers that the run is gone, if end() was not reached.
  ~Live();
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

  /// Call it when the model is prepared and the options are known. Takes the port if a page is
  /// wanted and this rank serves it. Throws UsageError.
  void prepare(const RunArguments& arguments, const Engine& engine, const RunRecord& record,
               RunControl& control);
  /// Call it when all other halts of the run are known, but for those of --stop-when.
  void begin(const RunRecord& record, RunControl& control);
  /// Answers requests from now on, and prints the address. `watch` must live until `detach`.
  void attach(Watch& watch);
  void detach();
  /// Call it when the run has ended and its results are written. Readers get the end within a
  /// fraction of a second.
  void end(const RunRecord& record, const std::string& sentence);

 private:
  bool looks_ = false;
  live::Facts facts_;
  std::string token_;
  std::optional<live::Board> board_;
  std::optional<live::Answers> answers_;
  std::optional<live::LookHalts> halts_;
  std::optional<live::Server> server_;  ///< destroyed first: its threads use the members above
};

/// Attaches `live` to `watch` for the lifetime of this object.
class LiveAttachment {
 public:
  LiveAttachment(Live& live, Watch& watch) : live_(live) { live_.attach(watch); }
  ~LiveAttachment() { live_.detach(); }
  LiveAttachment(const LiveAttachment&) = delete;
  LiveAttachment& operator=(const LiveAttachment&) = delete;

 private:
  Live& live_;
};

}  // namespace orrery::cli
