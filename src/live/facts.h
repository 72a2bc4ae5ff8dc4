// SPDX-License-Identifier: Apache-2.0
//
// The facts of a run that are known before its begin and do not change, for the head of its page.
#pragma once

#include <string>
#include <vector>

#include "output/run_record.h"
#include "page/run_folder.h"

namespace orrery::live {

struct Facts {
  /// `record`: of a run whose model is prepared and whose options are known.
  static Facts of(const RunRecord& record);

  /// As in a report: model, parameters, options, command.
  page::RunFolder run;
  std::string engine;
  unsigned workers = 0;  ///< as given; 0: the engine's choice
  unsigned ranks = 1;
  std::vector<std::string> lp_names;  ///< of models whose map has a cell for each LP; or empty
  double horizon_seconds = 0;
  std::string horizon;   ///< as a time
  std::string no_looks;  ///< the reason why there are no looks; empty: there are looks
};

}  // namespace orrery::live
