// SPDX-License-Identifier: Apache-2.0
#include "run/world/rebalance.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

#include "run/options/model_checks.h"
#include "run/world/world.h"

namespace orrery {
namespace {

using Owners = std::vector<std::uint16_t>;

/// Blocks by number. An LP across the end of a block goes to the side of its greater half.
Owners blocks(Owners owners, const std::vector<float>& loads, const std::vector<double>& shares,
              double total) {
  unsigned worker = 0;
  double reached = 0, end = shares[0] * total;
  for (std::size_t id = 0; id < loads.size(); ++id) {
    if (owners[id] == World::kElsewhere) continue;
    const auto load = static_cast<double>(loads[id]);
    while (worker + 1 < shares.size() && reached + load / 2 > end) end += shares[++worker] * total;
    owners[id] = static_cast<std::uint16_t>(worker);
    reached += load;
  }
  return owners;
}

/// The neighbours of each LP, in either direction of sends.
class Neighbours {
 public:
  struct Link {
    LpId to;
    std::uint32_t weight;
  };

  Neighbours(const CommunicationGraph& graph, std::size_t lps) : start_(lps + 2, 0) {
    for (const auto& edge : graph.edges()) {
      if (edge.from == edge.to) continue;
      ++start_[edge.from + 2];
      ++start_[edge.to + 2];
    }
    std::partial_sum(start_.begin(), start_.end(), start_.begin());
    links_.resize(start_.back());
    for (const auto& edge : graph.edges()) {
      if (edge.from == edge.to) continue;
      links_[start_[edge.from + 1]++] = {edge.to, edge.weight};
      links_[start_[edge.to + 1]++] = {edge.from, edge.weight};
    }
  }
  template <class Visit>
  void for_each(LpId id, Visit&& visit) const {
    for (std::uint64_t i = start_[id]; i < start_[id + 1]; ++i) visit(links_[i]);
  }

 private:
  std::vector<std::uint64_t> start_;  ///< of LP i at i; during construction, at i + 1
  std::vector<Link> links_;
};

/// Moves LPs on the borders, best first.
class Diffusion {
 public:
  Diffusion(const Neighbours& neighbours, const Owners& owners, const std::vector<float>& loads,
            const std::vector<double>& shares, double total)
      : neighbours_(neighbours), owners_(owners), loads_(loads), room_(shares.size()) {
    for (std::size_t i = 0; i < shares.size(); ++i) room_[i] = shares[i] * total;
    for (std::size_t id = 0; id < owners.size(); ++id)
      if (owners[id] != World::kElsewhere) room_[owners[id]] -= static_cast<double>(loads[id]);
  }

  Owners run() {
    for (LpId id = 0; id < owners_.size(); ++id) offer(id);
    move_offered();
    // If no neighbour's owner has room, moves one LP alone, and its neighbours may follow.
    for (LpId id = 0; id < owners_.size(); ++id) {
      if (!has_too_much(id)) continue;
      const Offer alone = to_most_room(id);
      if (alone.to == kNobody) continue;
      move(alone);
      move_offered();
    }
    return std::move(owners_);
  }

 private:
  static constexpr unsigned kNobody = 0xffffffff;
  struct Offer {
    std::int64_t gain;  ///< weight of links that no longer cross, less of those that cross then
    LpId id;
    unsigned to;
    bool operator<(const Offer& other) const {
      return std::tuple(gain, other.id) < std::tuple(other.gain, id);
    }
  };

  /// Whether moving the LP away brings its owner nearer to its share.
  bool has_too_much(LpId id) const {
    if (owners_[id] == World::kElsewhere) return false;
    return room_[owners_[id]] + static_cast<double>(loads_[id]) / 2 < 0;
  }
  bool has_room(unsigned worker, LpId id) const {
    return room_[worker] >= static_cast<double>(loads_[id]) / 2;
  }
  void offer(LpId id) {
    if (!has_too_much(id)) return;
    if (const Offer found = to_neighbours(id); found.to != kNobody) offers_.push(found);
  }
  void move_offered() {
    while (!offers_.empty()) {
      const Offer offer = offers_.top();
      offers_.pop();
      if (!has_too_much(offer.id)) continue;
      const Offer now = to_neighbours(offer.id);  // other LPs may have moved since
      if (now.to == kNobody) continue;
      if (now < offer) {
        offers_.push(now);
      } else {
        move(now);
      }
    }
  }
  /// To the worker with room that has the heaviest links to this LP.
  Offer to_neighbours(LpId id) {
    std::int64_t own = 0;
    links_.clear();
    neighbours_.for_each(id, [&](const Neighbours::Link& link) {
      const unsigned there = owners_[link.to];
      if (there == owners_[id]) {
        own += link.weight;
      } else if (there != World::kElsewhere && has_room(there, id)) {
        add(there, link.weight);
      }
    });
    if (links_.empty()) return {-own, id, kNobody};
    const auto most =
        std::max_element(links_.begin(), links_.end(), [](const auto& a, const auto& b) {
          return std::tuple(a.second, b.first) < std::tuple(b.second, a.first);
        });
    return {most->second - own, id, most->first};
  }
  Offer to_most_room(LpId id) const {
    const auto most = std::max_element(room_.begin(), room_.end());
    const auto worker = static_cast<unsigned>(most - room_.begin());
    return {0, id, has_room(worker, id) ? worker : kNobody};
  }
  void add(unsigned worker, std::uint32_t weight) {
    for (auto& [there, sum] : links_) {
      if (there != worker) continue;
      sum += weight;
      return;
    }
    links_.push_back({worker, weight});
  }
  void move(const Offer& offer) {
    room_[owners_[offer.id]] += static_cast<double>(loads_[offer.id]);
    room_[offer.to] -= static_cast<double>(loads_[offer.id]);
    owners_[offer.id] = static_cast<std::uint16_t>(offer.to);
    neighbours_.for_each(offer.id, [this](const Neighbours::Link& link) { this->offer(link.to); });
  }

  const Neighbours& neighbours_;
  Owners owners_;
  const std::vector<float>& loads_;
  std::vector<double> room_;  ///< of each worker, below its share
  std::priority_queue<Offer> offers_;
  std::vector<std::pair<unsigned, std::int64_t>> links_;  ///< to workers, of the current LP
};

}  // namespace

Owners rebalance(const Model& model, const Owners& owners, const std::vector<float>& loads,
                 const std::vector<double>& shares) {
  const double total = std::accumulate(loads.begin(), loads.end(), 0.0);
  if (total <= 0) return owners;
  const CommunicationGraph graph = communication_of(model);
  if (graph.edges().empty()) return blocks(owners, loads, shares, total);
  const Neighbours neighbours(graph, owners.size());
  return Diffusion(neighbours, owners, loads, shares, total).run();
}

}  // namespace orrery
