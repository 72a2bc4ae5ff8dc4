// SPDX-License-Identifier: Apache-2.0
//
// Runs as processes, one at a time. At its time limit a run is ended in order, and reports the
// events that it has committed, which is a valid measurement. So no configuration, however slow on
// a model, takes more than its share of the budget.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "study/children.h"

namespace orrery::advise {

struct RunOutcome {
  int code = 0;                   ///< of its exit; 0 also if the time limit ended it
  std::string sentence;           ///< its error message
  nlohmann::ordered_json report;  ///< null: no report

  bool is_usable() const { return code == 0 && report.is_object(); }
};

class Runner {
 public:
  /// Starts this program with `words` and `--out FOLDER --force --quiet`.
  RunOutcome run(std::vector<std::string> words, const std::string& folder, double limit_seconds);
  /// SIGINT or SIGTERM, after which no run may be started; 0: none came.
  int signal() const { return signal_; }
  unsigned runs() const { return runs_; }

 private:
  study::Ended wait(double limit_seconds, bool& is_over);

  study::Children children_;
  int signal_ = 0;
  unsigned runs_ = 0;
};

}  // namespace orrery::advise
