// SPDX-License-Identifier: Apache-2.0
//
// Runs as processes, one at a time, each ended in order when its time is over: it then reports what
// it has committed, which is a measurement like any other. So no configuration, however slow on a
// model, takes more than its share of the budget.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "study/children.h"

namespace orrery::advise {

struct RunOutcome {
  int code = 0;                   ///< of its exit; 0 also where it was ended when its time was over
  std::string sentence;           ///< what it said of it
  nlohmann::ordered_json report;  ///< null: it left none

  bool is_usable() const { return code == 0 && report.is_object(); }
};

class Runner {
 public:
  /// Starts this program with these words and `--out FOLDER --force --quiet`.
  RunOutcome run(std::vector<std::string> words, const std::string& folder, double limit_seconds);
  /// Of Ctrl-C or SIGTERM; from then on nothing is to be run. 0: none came.
  int signal() const { return signal_; }
  unsigned runs() const { return runs_; }

 private:
  study::Ended wait(double limit_seconds, bool& is_over);

  study::Children children_;
  int signal_ = 0;
  unsigned runs_ = 0;
};

}  // namespace orrery::advise
