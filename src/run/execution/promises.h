// SPDX-License-Identifier: Apache-2.0
//
// The minimum delays that a model promises between LPs: by Model::lookahead() for all pairs and by
// its communication graph for single pairs. Made once a run, constant afterwards, shared by all
// threads. key_of_send (send_rules.h) checks every send against them, on every engine; conservative
// engines derive from them how far ahead an LP is safe.
//
// Most models need no look at single promises: `free_delay` is the largest of all, and a send with
// at least that delay breaks none, which takes one comparison. It is zero if nothing is promised.
// Only with a complete graph must every pair be looked up. Without one, promises that are no
// stronger than lookahead() are not stored.
//
// The promises of an LP are adjacent, in a row. A row is its own hash table with as many buckets as
// promises: the promises are sorted by bucket, and the i-th of them also stores where bucket i
// begins. So a promise takes 16 bytes, and is found in a step or two however many others its LP has
// made.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/huge_pages.h"
#include "orrery/model.h"
#include "run/execution/clusters.h"

namespace orrery {

class Promises {
 public:
  struct Edge {
    LpId to;
    std::uint32_t bucket;    ///< where the bucket of this index begins; unrelated to the edge
    Duration minimum_delay;  ///< at least lookahead()
  };
  static_assert(sizeof(Edge) == 16);

  /// No promises.
  Promises() = default;
  /// `graph`: the model's, checked (model_checks.h). Throws UsageError for a negative lookahead.
  Promises(const Model& model, const CommunicationGraph& graph);

  /// A send with this delay or more breaks no promise.
  Duration free_delay() const { return free_delay_; }
  /// Whether a send keeps the promises.
  bool allow(LpId from, LpId to, Duration delay) const {
    return delay >= free_delay_ || from == to || allow_looking(from, to, delay);
  }
  /// The same for a send from an LP to another one with a delay below `free_delay`.
  [[gnu::always_inline]] bool allow_looking(LpId from, LpId to, Duration delay) const {
    const Edge* const edge = find(from, to);
    if (edge != nullptr) [[likely]]
      return delay >= edge->minimum_delay;
    return !complete_ && delay >= lookahead_;
  }

  /// The promise for pairs of different LPs without an edge, if these may communicate.
  Duration lookahead() const { return lookahead_; }
  /// Whether pairs without an edge do not communicate.
  bool complete() const { return complete_; }
  /// Whether no delay is promised, and no pair excluded.
  bool empty() const { return free_delay_ == Duration::zero(); }
  /// Clusters of LPs between which no delay is promised.
  const Clusters& clusters() const { return clusters_; }
  /// The smallest delay from an LP to another one; nothing if they do not communicate.
  std::optional<Duration> minimum_delay(LpId from, LpId to) const;
  /// In a fixed order, which is not that of the receivers. Without promises that are no stronger
  /// than lookahead(), if the graph is not complete.
  std::span<const Edge> edges_from(LpId from) const {
    if (starts_.empty()) return {};
    return {edges_.data() + starts_[from], edges_.data() + starts_[from + 1]};
  }
  /// Calls visit(from, edge) for all edges, in that order.
  template <class Visit>
  void for_each_edge(Visit&& visit) const {
    for (std::size_t from = 0; from + 1 < starts_.size(); ++from)
      for (const Edge& edge : edges_from(static_cast<LpId>(from)))
        visit(static_cast<LpId>(from), edge);
  }
  std::size_t edge_count() const { return starts_.empty() ? 0 : starts_.back(); }
  std::size_t bytes() const {
    return edges_.size() * sizeof(Edge) + starts_.size() * sizeof(std::uint32_t);
  }

 private:
  /// The bucket of a receiver in a row. Fibonacci hashing (Knuth, The Art of Computer Programming
  /// 3, section 6.4) separates neighbours' numbers, which are near each other.
  static constexpr std::uint32_t kHashFactor = 0x9e3779b9u;
  static std::uint32_t bucket_of(LpId to, std::uint32_t buckets) {
    return static_cast<std::uint32_t>(std::uint64_t{to * kHashFactor} * buckets >> 32);
  }
  [[gnu::always_inline]] const Edge* find(LpId from, LpId to) const {
    const std::uint32_t row = starts_[from], buckets = starts_[from + 1] - row;
    if (buckets == 0) [[unlikely]]
      return nullptr;
    const Edge* const bucket = edges_.data() + row + bucket_of(to, buckets);
    for (std::uint32_t i = bucket[0].bucket; i != bucket[1].bucket; ++i)
      if (edges_[i].to == to) return &edges_[i];
    return nullptr;
  }

  void fill(const CommunicationGraph& graph, std::uint64_t pairs, std::uint64_t lps);
  void merge_rows();
  void make_buckets();
  void find_clusters(std::uint64_t lps);

  Duration lookahead_, free_delay_;
  bool complete_ = false;
  Clusters clusters_;
  std::vector<std::uint32_t, HugePageAllocator<std::uint32_t>> starts_;  ///< empty: no promise
  std::vector<Edge, HugePageAllocator<Edge>> edges_;  ///< one more, for the end of the last bucket
};

/// Promises(model, graph).clusters(), where `graph` is complete or lookahead() is positive. Makes
/// the promises only if it is not obvious that there are no clusters, since that takes a while for
/// a large model.
Clusters clusters_of(const Model& model, const CommunicationGraph& graph);

}  // namespace orrery
