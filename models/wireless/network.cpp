// SPDX-License-Identifier: Apache-2.0
//
// Places stations and computes links and routes. The network is a function of the plan alone: its
// random numbers come from streams of the plan's own seed, so runs with different seeds can be
// compared on the same network.
#include "network.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>

#include "orrery/error.h"
#include "orrery/random.h"

namespace wireless {
namespace {

using orrery::Random;
namespace math = orrery::math;

// Random streams of the plan's seed; domain 0 is for the stations in a run.
constexpr std::uint32_t kPlaceDomain = 1, kShadowDomain = 2;
constexpr double kShadowLimit = 3.0;  // standard deviations; bounds the search range for links
constexpr double kScatter = 0.35;     // share of the spacing, to each side
constexpr std::uint32_t kCostScale = 1024;

/// Columns of the smallest square grid that holds all stations.
std::uint32_t grid_columns(std::uint32_t stations) {
  std::uint32_t columns = 1;
  while (columns * columns < stations) ++columns;
  return columns;
}

/// Grid cells at least as large as the range, so all stations in range are in nine cells.
class CellIndex {
 public:
  CellIndex(const std::vector<Position>& positions, double range_m) : positions_(positions) {
    double width = 0.0, height = 0.0;
    for (const Position& at : positions) {
      width = std::max(width, at.x);
      height = std::max(height, at.y);
    }
    const double most =
        static_cast<double>(grid_columns(static_cast<std::uint32_t>(positions.size())));
    cell_m_ = std::max({range_m, width / most, height / most, 1e-9});
    columns_ = static_cast<std::uint32_t>(width / cell_m_) + 1;
    rows_ = static_cast<std::uint32_t>(height / cell_m_) + 1;
    cells_.resize(std::size_t{columns_} * rows_);
    for (LpId id = 0; id < positions.size(); ++id)
      cells_[std::size_t{row(positions[id])} * columns_ + column(positions[id])].push_back(id);
  }

  /// Calls `visit(other)` for all stations of the cell of `station` and of the cells around it.
  template <class Visit>
  void for_each_near(LpId station, Visit visit) const {
    const std::uint32_t x = column(positions_[station]), y = row(positions_[station]);
    for (std::uint32_t r = y == 0 ? 0 : y - 1; r <= std::min(y + 1, rows_ - 1); ++r)
      for (std::uint32_t c = x == 0 ? 0 : x - 1; c <= std::min(x + 1, columns_ - 1); ++c)
        for (const LpId other : cells_[std::size_t{r} * columns_ + c]) visit(other);
  }

 private:
  std::uint32_t column(const Position& at) const {
    return static_cast<std::uint32_t>(at.x / cell_m_);
  }
  std::uint32_t row(const Position& at) const { return static_cast<std::uint32_t>(at.y / cell_m_); }

  const std::vector<Position>& positions_;
  double cell_m_ = 1.0;
  std::uint32_t columns_ = 1, rows_ = 1;
  std::vector<std::vector<LpId>> cells_;
};

double distance_m(const Position& a, const Position& b) {
  const double dx = a.x - b.x, dy = a.y - b.y;
  return math::sqrt(math::product(dx, dx) + math::product(dy, dy));
}

/// The same for both directions of a pair, as the obstacles are the same.
double shadowing_db(const Plan& plan, LpId a, LpId b) {
  if (plan.shadowing_db == 0.0) return 0.0;
  Random random(plan.seed, std::min(a, b), std::uint64_t{std::max(a, b)} << 16, kShadowDomain);
  return plan.shadowing_db * std::clamp(random.normal(0.0, 1.0), -kShadowLimit, kShadowLimit);
}

}  // namespace

Network::Network(const Plan& plan) {
  place(plan);
  choose_gateways(plan);
  connect(plan);
}

void Network::place(const Plan& plan) {
  const std::uint32_t columns = plan.layout == "line" ? plan.stations : grid_columns(plan.stations);
  const std::uint32_t rows = (plan.stations + columns - 1) / columns;
  const double radius = plan.spacing_m * math::sqrt(plan.stations / 3.14159265358979);
  const bool disc = plan.layout == "disc", random_places = plan.layout == "random";
  width_m_ = disc ? 2 * radius : plan.spacing_m * columns;
  height_m_ = disc ? 2 * radius : plan.spacing_m * rows;
  for (LpId id = 0; id < plan.stations; ++id) {
    Random random(plan.seed, id, 0, kPlaceDomain);
    Position at{(id % columns + 0.5) * plan.spacing_m, (id / columns + 0.5) * plan.spacing_m};
    if (disc) {  // the first in the middle; the others uniform, by rejection from the square
      do {
        at.x = id == 0 ? radius : random.uniform(0.0, 2 * radius);
        at.y = id == 0 ? radius : random.uniform(0.0, 2 * radius);
      } while (distance_m(at, {radius, radius}) > radius);
    } else if (random_places) {
      at.x = random.uniform(0.0, width_m_);
      at.y = random.uniform(0.0, height_m_);
    } else if (plan.layout == "scatter") {
      const double aside = kScatter * plan.spacing_m;
      at.x += random.uniform(-aside, aside);
      at.y += random.uniform(-aside, aside);
    }
    positions_.push_back(at);
  }
}

/// Chooses the stations nearest to points that are spread evenly over the area.
void Network::choose_gateways(const Plan& plan) {
  gateway_.assign(positions_.size(), false);
  gateway_count_ = plan.gateways;
  const std::uint32_t columns = grid_columns(plan.gateways);
  const std::uint32_t rows = (plan.gateways + columns - 1) / columns;
  for (std::uint32_t k = 0; k < plan.gateways; ++k) {
    const std::uint32_t row = k / columns;
    const std::uint32_t in_row = row + 1 < rows ? columns : plan.gateways - columns * row;
    const Position wanted{(k % columns + 0.5) / in_row * width_m_, (row + 0.5) / rows * height_m_};
    LpId best = 0;
    double best_m = -1.0;
    for (LpId id = 0; id < positions_.size(); ++id) {
      if (gateway_[id]) continue;
      const double metres = distance_m(positions_[id], wanted);
      if (best_m >= 0 && metres >= best_m) continue;
      best = id;
      best_m = metres;
    }
    gateway_[best] = true;
  }
}

void Network::connect(const Plan& plan) {
  const double most_db = plan.power_dbm - plan.floor_dbm + kShadowLimit * plan.shadowing_db;
  const CellIndex index(positions_, plan.loss.metres(most_db));
  for (LpId from = 0; from < positions_.size(); ++from) {
    first_.push_back(link_count());
    index.for_each_near(from, [&](LpId to) {
      if (to == from) return;
      const double metres = distance_m(positions_[from], positions_[to]);
      const double dbm = plan.power_dbm - plan.loss.db(metres) + shadowing_db(plan, from, to);
      if (dbm < plan.floor_dbm) return;
      links_.push_back({from, to, watts_of_dbm(dbm), propagation(metres), kNoPort});
    });
    std::sort(links_.begin() + first_.back(), links_.end(),
              [](const Link& a, const Link& b) { return a.to < b.to; });
    if (links_.size() > plan.maximum_links) {
      throw orrery::UsageError("more than " + std::to_string(plan.maximum_links / 2) +
                               " pairs of stations hear each other, too many to hold; choose fewer "
                               "stations, a larger spacing, a higher floor or a larger path_loss");
    }
  }
  first_.push_back(link_count());
  ports_.assign(positions_.size(), 0);
  if (links_.empty()) return;
  const auto by_delay = [](const Link& a, const Link& b) { return a.delay < b.delay; };
  shortest_delay_ = std::min_element(links_.begin(), links_.end(), by_delay)->delay;
  longest_delay_ = std::max_element(links_.begin(), links_.end(), by_delay)->delay;
}

void Network::set_cost(Link& link, double transmissions) {
  const bool usable = transmissions > 0.0;
  cost_.push_back(usable ? static_cast<std::uint32_t>(transmissions * kCostScale + 0.5) : 0);
  if (usable) link.port = ports_[link.from]++;
}

Network::Tree Network::shortest_paths(const std::vector<LpId>& roots) const {
  constexpr std::uint64_t kFar = ~std::uint64_t{0};
  Tree tree{std::vector<std::uint32_t>(positions_.size(), kNoRoute),
            std::vector<LpId>(positions_.size(), kNoRoute)};
  std::vector<std::uint64_t> cost(positions_.size(), kFar);
  using Entry = std::tuple<std::uint64_t, LpId>;  // ties: the lower number first
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  for (const LpId root : roots) {
    cost[root] = 0;
    tree.root[root] = root;
    open.emplace(0, root);
  }
  while (!open.empty()) {
    const auto [reached, station] = open.top();
    open.pop();
    if (reached > cost[station]) continue;
    // Power, and so the cost, is the same in both directions: each link of `station` has the cost
    // of the reverse link, which leads to `station`.
    for (std::uint32_t l = first_[station]; l < first_[station + 1]; ++l) {
      if (cost_[l] == 0 || reached + cost_[l] >= cost[links_[l].to]) continue;
      const LpId other = links_[l].to;
      cost[other] = reached + cost_[l];
      tree.root[other] = tree.root[station];
      const auto links = links_of(other);
      const auto back = std::lower_bound(links.begin(), links.end(), station,
                                         [](const Link& a, LpId to) { return a.to < to; });
      tree.next_link[other] = first_[other] + static_cast<std::uint32_t>(back - links.begin());
      open.emplace(cost[other], other);
    }
  }
  return tree;
}

void Network::find_routes(const Plan& plan) {
  std::vector<LpId> roots;
  for (LpId id = 0; id < positions_.size(); ++id)
    if (gateway_[id]) roots.push_back(id);
  Tree tree = shortest_paths(roots);
  nearest_gateway_ = std::move(tree.root);
  to_gateway_ = std::move(tree.next_link);
  if (!plan.all_destinations) return;
  routes_.reserve(positions_.size() * positions_.size());
  for (LpId id = 0; id < positions_.size(); ++id) {
    tree = shortest_paths({id});
    routes_.insert(routes_.end(), tree.next_link.begin(), tree.next_link.end());
  }
}

std::uint32_t Network::hops_to_gateway(LpId station) const {
  std::uint32_t hops = 0;
  while (to_gateway_[station] != kNoRoute) {
    station = links_[to_gateway_[station]].to;
    ++hops;
  }
  return hops;
}

}  // namespace wireless
