// SPDX-License-Identifier: Apache-2.0
#include "run/execution/lp_executions.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "run/options/model_checks.h"

namespace orrery {

LpExecutions::LpExecutions(const Model& model, const Promises& promises) {
  const auto lps = static_cast<LpId>(model.lp_count());
  call_model("execution_of()", [&] {
    for (LpId id = 0; id < lps; ++id) {
      const LpExecution kind = model.execution_of(id);
      ++counts_[static_cast<std::size_t>(kind)];
      if (kind == LpExecution::speculative) continue;
      if (table_.empty()) table_.resize(lps);
      table_[id].kind = kind;
      table_[id].stays = model.stays_on_thread(id);
      any_stays_ |= table_[id].stays;
    }
  });
  if (!table_.empty()) find_lookaheads(promises);
}

/// In a complete graph, pairs without an edge do not communicate; else lookahead() holds for them,
/// and an edge with a larger delay says nothing about other pairs.
void LpExecutions::find_lookaheads(const Promises& promises) {
  constexpr Duration kNobody = Duration::from_ticks(std::numeric_limits<std::int64_t>::max());
  for (Lp& lp : table_) lp.lookahead = promises.complete() ? kNobody : promises.lookahead();
  if (!promises.complete()) return;
  promises.for_each_edge([this](LpId, const Promises::Edge& edge) {
    Duration& least = table_[edge.to].lookahead;
    least = std::min(least, edge.minimum_delay);
  });
}

std::string text_of(const LpExecutions& executions) {
  std::string text;
  const auto add = [&](LpExecution kind, const char* name) {
    if (const std::uint64_t count = executions.count(kind); count > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  };
  add(LpExecution::confined, "confined");
  add(LpExecution::committed, "committed");
  return text;
}

}  // namespace orrery
