// SPDX-License-Identifier: Apache-2.0
#include "engine/timewarp/moving.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/assert.h"
#include "run/options/disturbances.h"
#include "run/world/rebalance.h"

namespace orrery::timewarp {

Moving::Moving(const LpExecutions& executions, LpId lps, unsigned workers,
               const Disturbances& disturbances)
    : executions_(executions),
      workers_(workers),
      disturbances_(disturbances),
      cycles_(workers == 1 ? 0 : lps),
      worker_loads_(workers),
      handed_out_(workers) {}

void Moving::decide(const Model& model, const std::vector<std::uint16_t>& owners,
                    Balance::Plan plan) {
  for (auto& events : handed_out_) std::vector<TwEvent*>().swap(events);
  if (plan == Balance::Plan::even) {
    even_out(model, owners);
  } else if (plan == Balance::Plan::back) {
    go_back();
  } else {
    disturb(owners);
  }
  std::fill(cycles_.begin(), cycles_.end(), 0);
}

/// No LPs move unless the load of the busiest worker falls by a factor of kWorthMoving.
void Moving::even_out(const Model& model, const std::vector<std::uint16_t>& owners) {
  moves_.clear();
  const std::vector<float> loads = lp_loads(owners);
  const std::vector<double> shares(workers_, 1.0 / workers_);
  const std::vector<std::uint16_t> evened = rebalance(model, owners, loads, shares);
  if (most_load(owners, loads) >= kWorthMoving * most_load(evened, loads)) move_to(owners, evened);
}

void Moving::go_back() {
  for (Lp& lp : moves_) std::swap(lp.from, lp.to);
}

void Moving::disturb(const std::vector<std::uint16_t>& owners) {
  moves_.clear();
  std::vector<std::uint16_t> wanted = owners;
  disturbances_.move(++disturbed_, workers_, wanted);
  move_to(owners, wanted);
}

/// The measured cycles of each LP, scaled to the loads of their workers. The LPs of a worker
/// without measurements are taken to have equal loads.
std::vector<float> Moving::lp_loads(const std::vector<std::uint16_t>& owners) const {
  std::vector<double> measured(workers_);
  std::vector<std::uint64_t> lps(workers_);
  for (LpId id = 0; id < cycles_.size(); ++id) {
    if (owners[id] == World::kElsewhere) continue;
    measured[owners[id]] += cycles_[id];
    ++lps[owners[id]];
  }
  std::vector<float> loads(cycles_.size());
  for (LpId id = 0; id < cycles_.size(); ++id) {
    const unsigned owner = owners[id];
    if (owner == World::kElsewhere) continue;
    const double load = worker_loads_[owner];
    loads[id] = static_cast<float>(measured[owner] > 0 ? load * (cycles_[id] / measured[owner])
                                                       : load / static_cast<double>(lps[owner]));
  }
  return loads;
}

double Moving::most_load(const std::vector<std::uint16_t>& owners,
                         const std::vector<float>& loads) const {
  std::vector<double> sums(workers_);
  for (LpId id = 0; id < cycles_.size(); ++id)
    if (owners[id] != World::kElsewhere) sums[owners[id]] += static_cast<double>(loads[id]);
  return *std::max_element(sums.begin(), sums.end());
}

void Moving::move_to(const std::vector<std::uint16_t>& from, const std::vector<std::uint16_t>& to) {
  for (LpId id = 0; id < cycles_.size(); ++id)
    if (from[id] != to[id] && !executions_.stays_on_thread(id))
      moves_.push_back({id, from[id], to[id]});
}

}  // namespace orrery::timewarp
