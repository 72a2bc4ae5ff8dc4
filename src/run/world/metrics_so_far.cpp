// SPDX-License-Identifier: Apache-2.0
#include "run/world/metrics_so_far.h"

#include "core/logical_process_access.h"
#include "run/results/metric_totals.h"
#include "run/world/rank_exchange.h"

namespace orrery {
namespace {

template <class Visit>
void for_each_ledger(World& world, Visit&& visit) {
  for (LpId id = 0; id < world.lp_count(); ++id) {
    if (!world.is_here(id)) continue;
    if (const std::byte* metrics = LogicalProcessAccess::metrics(*world.lp(id).object))
      visit(id, metrics);
  }
}

Finisher::Part part_of(World& world) {
  Finisher::Part part;
  const std::uint32_t bytes = world.model().metric_bytes();
  for_each_ledger(world, [&](LpId id, const std::byte* metrics) {
    part.lps.push_back(id);
    part.metrics.insert(part.metrics.end(), metrics, metrics + bytes);
  });
  part.mergeable_statistics = world.mergeable_statistics.words();
  return part;
}

}  // namespace

RunResult metrics_so_far(World& world, Time time, transport::RankTransport* ranks) {
  RunResult result;
  result.reached = time;
  if (ranks != nullptr) {
    Finisher::store(world.model(), time, share_parts(*ranks, part_of(world)), result);
    return result;
  }
  MetricTotals totals(world.model(), time);
  for_each_ledger(world, [&](LpId id, const std::byte* metrics) { totals.add(id, metrics); });
  totals.store(result);
  result.mergeable_statistics = world.mergeable_statistics;
  return result;
}

}  // namespace orrery
