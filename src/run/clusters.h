// SPDX-License-Identifier: Apache-2.0
//
// LPs that may reach each other without delay: nothing that one of them executes is safe from the
// others, so a conservative engine executes them on one worker, and placement keeps them together.
// Most models have none.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/model.h"

namespace orrery {

class Clusters {
 public:
  /// No LP reaches another without delay.
  Clusters() = default;
  /// All do.
  static Clusters of_all() {
    Clusters all;
    all.count_ = 1;
    return all;
  }
  /// Each LP of so many is alone until they are merged.
  explicit Clusters(std::uint64_t lps);
  /// What these two are in is one cluster from now on. The lowest LP stands for it (union-find:
  /// Galler and Fischer, An improved equivalence algorithm, CACM 7(5), 1964).
  void merge(LpId a, LpId b);

  /// Whether LPs may have to stay together.
  bool any() const { return count_ > 0; }
  /// The lowest LP of the cluster that this one is in.
  LpId of(LpId id) const { return lowest_.empty() ? (any() ? 0 : id) : find(id); }
  /// Clusters that LPs make, where there are so many LPs.
  std::uint64_t count(std::uint64_t lps) const { return any() ? count_ : lps; }

 private:
  LpId find(LpId id) const {
    while (lowest_[id] != id) id = lowest_[id];
    return id;
  }

  std::uint64_t count_ = 0;   ///< 0: as many as LPs
  std::vector<LpId> lowest_;  ///< or one on the way to it; empty: all are in one, or each is alone
};

}  // namespace orrery
