// SPDX-License-Identifier: Apache-2.0
//
// Access of engines to the private parts of LogicalProcessBase.
#pragma once

#include <cstddef>

#include "core/ledger.h"
#include "orrery/logical_process.h"

namespace orrery {

/// For engines only: models do not see this header.
struct LogicalProcessAccess {
  /// nullptr if the LP has no ledger.
  static const Ledger* ledger(const LogicalProcessBase& lp) { return lp.ledger_; }
  static Ledger* ledger(LogicalProcessBase& lp) { return lp.ledger_; }
  /// Ledger::metrics; nullptr if there is no ledger.
  static const std::byte* metrics(const LogicalProcessBase& lp) {
    return lp.ledger_ == nullptr ? nullptr : lp.ledger_->metrics();
  }
  /// In the LP's application mode: frees memory of the ledger down to an earlier extent. Does not
  /// restore its content.
  static void shrink_ledger(LogicalProcessBase& lp, Ledger::Extent extent) {
    if (lp.ledger_ == nullptr) return;
    if (extent != Ledger::kNone) return lp.ledger_->timers.shrink(extent);
    Ledger::destroy(lp.ledger_);
    lp.ledger_ = nullptr;
  }
};

}  // namespace orrery
