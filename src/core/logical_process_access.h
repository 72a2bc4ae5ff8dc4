// SPDX-License-Identifier: Apache-2.0
//
// What engines may do to an LP that models may not.
#pragma once

#include "orrery/logical_process.h"

namespace orrery {

/// Gives engines access to what LogicalProcessBase hides from models.
struct LogicalProcessAccess {
  static const Summary* metrics(const LogicalProcessBase& lp) { return lp.metrics_; }
  /// Gives them back, in the LP's application mode: it has recorded nothing.
  static void drop_metrics(LogicalProcessBase& lp) {
    delete[] lp.metrics_;
    lp.metrics_ = nullptr;
  }
};

}  // namespace orrery
