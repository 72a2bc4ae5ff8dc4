// SPDX-License-Identifier: Apache-2.0
//
// --live of a run: the live page, from the open port to the last answer. The first rank serves the
// page; the other ranks halt together with the first rank.
#pragma once

#include <optional>
#include <string>

#include "cli/run_feature.h"
#include "live/answers.h"
#include "live/board.h"
#include "live/facts.h"
#include "live/halts.h"
#include "live/server.h"

namespace orrery::cli {

class Live final : public RunFeature {
 public:
  void declare(OptionTable& options) override;
  /// Takes the port if a page is wanted and this rank serves it.
  void prepare(RunState& run) override;
  /// Answers requests from now on, and prints the address.
  void begin(RunState& run) override;
  void leave(RunState& run) override;
  /// Readers of the page get the end within a fraction of a second.
  void published(RunState& run) override;
  void failed() override;

 private:
  std::string port_;  ///< the option
  bool looks_ = false;
  live::Facts facts_;
  std::string token_;
  std::optional<live::Board> board_;
  std::optional<live::Answers> answers_;
  std::optional<live::LookHalts> halts_;
  std::optional<live::Server> server_;  ///< destroyed first: its threads use the members above
};

}  // namespace orrery::cli
