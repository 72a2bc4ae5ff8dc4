// SPDX-License-Identifier: Apache-2.0
//
// --live of a run: its page, from the port to the last answer. The first rank serves; the others
// halt with it.
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
  /// What is left of it says that the run is gone.
  ~Live();
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

  /// The model is prepared, and the options are known. Takes the port, if there is to be a page and
  /// this rank serves it. Throws UsageError.
  void prepare(const RunArguments& arguments, const Engine& engine, const RunRecord& record,
               RunControl& control);
  /// What else the run halts for is known; but for what stops it by its metrics.
  void begin(const RunRecord& record, RunControl& control);
  /// Answers from now on, and says where. `watch` lives until `detach`.
  void attach(Watch& watch);
  void detach();
  /// The run is over, and its results are where they belong. Readers are told; none has to wait
  /// longer than a fraction of a second.
  void end(const RunRecord& record, const std::string& sentence);

 private:
  bool looks_ = false;
  live::Facts facts_;
  std::string token_;
  std::optional<live::Board> board_;
  std::optional<live::Answers> answers_;
  std::optional<live::LookHalts> halts_;
  std::optional<live::Server> server_;  ///< ends first: its threads ask the others
};

/// While a watch is attached.
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
