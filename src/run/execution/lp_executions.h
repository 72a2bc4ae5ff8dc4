// SPDX-License-Identifier: Apache-2.0
//
// The model's declarations of how its LPs may be executed (LpExecution in orrery/model.h), read
// once a run and constant afterwards. Engines check them before they execute speculatively. Nearly
// all models have speculative LPs only: these need no table, and one test shows it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/model.h"
#include "run/execution/promises.h"

namespace orrery {

class LpExecutions {
 public:
  /// All are speculative.
  LpExecutions() = default;
  LpExecutions(const Model& model, const Promises& promises);

  bool all_speculative() const { return table_.empty(); }
  bool any_committed() const { return count(LpExecution::committed) > 0; }
  bool any_stays_on_thread() const { return any_stays_; }
  std::uint64_t count(LpExecution kind) const { return counts_[static_cast<std::size_t>(kind)]; }

  LpExecution of(LpId id) const {
    return table_.empty() ? LpExecution::speculative : table_[id].kind;
  }
  bool stays_on_thread(LpId id) const { return !table_.empty() && table_[id].stays; }
  /// Smallest delay of sends from other LPs to this one, which is not speculative.
  Duration lookahead_into(LpId id) const { return table_[id].lookahead; }

 private:
  struct Lp {
    Duration lookahead;
    LpExecution kind = LpExecution::speculative;
    bool stays = false;
  };
  void find_lookaheads(const Promises& promises);

  std::vector<Lp> table_;  ///< empty: all are speculative
  std::array<std::uint64_t, 3> counts_{};
  bool any_stays_ = false;
};

/// "2 confined, 1 committed": counts of LPs that are not speculative; empty if there are none.
std::string text_of(const LpExecutions& executions);

}  // namespace orrery
