// SPDX-License-Identifier: Apache-2.0
//
// What engines may do to an LP that models may not.
#pragma once

#include <cstddef>

#include "core/ledger.h"
#include "orrery/logical_process.h"

namespace orrery {

/// Gives engines access to what LogicalProcessBase hides from models.
struct LogicalProcessAccess {
  /// nullptr: the platform keeps nothing for it there.
  static const Ledger* ledger(const LogicalProcessBase& lp) { return lp.ledger_; }
  static Ledger* ledger(LogicalProcessBase& lp) { return lp.ledger_; }
  /// What Ledger::metrics has; nullptr if there is no ledger.
  static const std::byte* metrics(const LogicalProcessBase& lp) {
    return lp.ledger_ == nullptr ? nullptr : lp.ledger_->metrics();
  }
  /// In the LP's application mode: brings the ledger's memory, not what is in it, back to an extent
  /// that it had.
  static void shrink_ledger(LogicalProcessBase& lp, Ledger::Extent extent) {
    if (lp.ledger_ == nullptr) return;
    if (extent != Ledger::kNone) return lp.ledger_->timers.shrink(extent);
    Ledger::destroy(lp.ledger_);
    lp.ledger_ = nullptr;
  }
};

}  // namespace orrery
