// SPDX-License-Identifier: Apache-2.0
//
// What is known of a run before it begins, and stays so: for its page's head.
#pragma once

#include <string>

#include "observe/run_record.h"
#include "page/run_folder.h"

namespace orrery::live {

struct Facts {
  /// `record`: of a run whose model is prepared and whose options are known.
  static Facts of(const RunRecord& record);

  /// As a report says them: model, parameters, options, command.
  page::RunFolder run;
  std::string engine;
  unsigned workers = 0;  ///< that were asked for; 0: as many as the engine takes
  unsigned ranks = 1;
  double horizon_seconds = 0;
  std::string horizon;   ///< as a time
  std::string no_looks;  ///< why there are none; empty: there are
};

}  // namespace orrery::live
