// SPDX-License-Identifier: Apache-2.0
//
// Clusters of LPs that may reach each other without delay. An LP of a cluster can always receive an
// event at the current time from another one, so a conservative engine executes a cluster on one
// worker, and placement keeps it together. Most models have none.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/model.h"

namespace orrery {

class Clusters {
 public:
  /// No LP reaches another without delay.
  Clusters() = default;
  /// All LPs are one cluster.
  static Clusters of_all() {
    Clusters all;
    all.count_ = 1;
    return all;
  }
  /// Each of `lps` LPs is a cluster of its own until merged.
  explicit Clusters(std::uint64_t lps);
  /// Merges the clusters of two LPs. The lowest LP represents a cluster (union-find: Galler and
  /// Fischer, An improved equivalence algorithm, CACM 7(5), 1964).
  void merge(LpId a, LpId b);

  /// Whether LPs may have to stay together.
  bool any() const { return count_ > 0; }
  /// The lowest LP of this LP's cluster.
  LpId of(LpId id) const { return lowest_.empty() ? (any() ? 0 : id) : find(id); }
  /// Number of clusters of `lps` LPs.
  std::uint64_t count(std::uint64_t lps) const { return any() ? count_ : lps; }

 private:
  LpId find(LpId id) const {
    while (lowest_[id] != id) id = lowest_[id];
    return id;
  }

  std::uint64_t count_ = 0;   ///< 0: as many as LPs
  std::vector<LpId> lowest_;  ///< or an LP on the path to it; empty: one cluster, or no merges
};

}  // namespace orrery
