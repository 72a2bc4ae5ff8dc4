// SPDX-License-Identifier: Apache-2.0
#include "mpr.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace orrery::lab::olsr {
namespace {

using Candidates = std::map<Address, MprCandidate>;

class Choice {
 public:
  explicit Choice(const Candidates& candidates) : candidates_(candidates) {
    for (const auto& [address, one] : candidates)
      for (const Address far : one.reaches) ++ways_[far];
    for (const auto& [far, ways] : ways_) uncovered_.insert(far);
  }

  std::set<Address> chosen() {
    for (const auto& [address, one] : candidates_)
      if (one.willingness == kWillAlways) take(address);
    for (const auto& [address, one] : candidates_)
      if (std::any_of(one.reaches.begin(), one.reaches.end(),
                      [&](Address far) { return ways_[far] == 1; }))
        take(address);
    while (!uncovered_.empty()) take(best());
    drop_superfluous();
    return std::move(mprs_);
  }

 private:
  std::size_t gain(const MprCandidate& one) const {
    return static_cast<std::size_t>(
        std::count_if(one.reaches.begin(), one.reaches.end(),
                      [&](Address far) { return uncovered_.contains(far); }));
  }

  /// Step 4: of candidates that cover anything new, by willingness, then gain, then degree.
  Address best() const {
    const auto rank = [&](const MprCandidate& one) {
      const std::size_t covers = gain(one);
      return std::tuple(covers > 0, one.willingness, covers, one.degree);
    };
    return std::max_element(candidates_.begin(), candidates_.end(),
                            [&](const auto& one, const auto& other) {
                              return rank(one.second) < rank(other.second);
                            })
        ->first;
  }

  void take(Address address) {
    mprs_.insert(address);
    for (const Address far : candidates_.at(address).reaches) uncovered_.erase(far);
  }

  /// Step 5: removes superfluous MPRs, the least willing first.
  void drop_superfluous() {
    std::vector<std::pair<unsigned, Address>> order;
    std::map<Address, std::size_t> covers;
    for (const Address mpr : mprs_) {
      const MprCandidate& one = candidates_.at(mpr);
      order.emplace_back(one.willingness, mpr);
      for (const Address far : one.reaches) ++covers[far];
    }
    std::sort(order.begin(), order.end());
    for (const auto& [willingness, mpr] : order) {
      const std::set<Address>& reaches = candidates_.at(mpr).reaches;
      if (willingness == kWillAlways || std::any_of(reaches.begin(), reaches.end(),
                                                    [&](Address far) { return covers[far] == 1; }))
        continue;
      mprs_.erase(mpr);
      for (const Address far : reaches) --covers[far];
    }
  }

  const Candidates& candidates_;
  std::map<Address, std::size_t> ways_;  ///< number of ways to a two-hop neighbour
  std::set<Address> uncovered_, mprs_;
};

/// Neighbours at one interface (N of 8.3.1) with the two-hop neighbours that they reach.
Candidates candidates_at(const Information& known, std::size_t interface,
                         const std::set<Address>& neighbours) {
  Candidates candidates;
  std::set<Address> here;
  for (const auto& [key, link] : known.links)
    if (key.first == interface && link.is_symmetric()) here.insert(link.neighbour);
  for (const Address one : here)
    if (known.willingness.at(one) != kWillNever)
      candidates[one].willingness = known.willingness.at(one);
  std::set<std::pair<Address, Address>> counted;  // a router may appear with several addresses
  for (const auto& [pair, until] : known.two_hop) {
    const auto candidate = candidates.find(pair.first);
    const Address far = known.main_address(pair.second);
    if (candidate == candidates.end() || known.own.contains(far) ||
        !counted.emplace(pair.first, far).second)
      continue;
    candidate->second.degree += here.contains(far) ? 0 : 1;
    if (!neighbours.contains(far)) candidate->second.reaches.insert(far);
  }
  return candidates;
}

}  // namespace

std::set<Address> choose_mprs(const Candidates& candidates) {
  return Choice(candidates).chosen();
}

std::set<Address> choose_mprs(const Information& known) {
  const std::set<Address> neighbours = known.symmetric_neighbours();
  std::set<std::size_t> interfaces;
  for (const auto& [key, link] : known.links) interfaces.insert(key.first);
  std::set<Address> mprs;
  for (const std::size_t interface : interfaces)
    mprs.merge(choose_mprs(candidates_at(known, interface, neighbours)));
  return mprs;
}

}  // namespace orrery::lab::olsr
