// SPDX-License-Identifier: Apache-2.0
//
// What a model promises of its sends: the smallest delay from one LP to another, by
// Model::lookahead() for all pairs and by its communication graph for single ones. Made once a run,
// constant afterwards, shared by all threads. Key_of_send (send_rules.h) holds every send against
// it, on every engine; conservative engines take from it how far ahead an LP is safe.
//
// The promises of an LP lie side by side, by receiver, 16 bytes each. Few models need a look at
// them: `free_delay` is the largest promise of all, and a send with that delay or more breaks none,
// which takes one comparison. It is zero where nothing is promised. Only where a graph is complete
// every pair has to be looked up. Where it is not, promises that say no more than lookahead() are
// not kept.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/huge_pages.h"
#include "orrery/model.h"

namespace orrery {

class Promises {
 public:
  struct Edge {
    LpId to;
    Duration minimum_delay;  ///< at least lookahead()
  };
  static_assert(sizeof(Edge) == 16);

  /// None.
  Promises() = default;
  /// `graph`: the model's, checked (model_checks.h). Throws UsageError for a negative lookahead.
  Promises(const Model& model, const CommunicationGraph& graph);

  /// A send with this delay or more need not be looked at.
  Duration free_delay() const { return free_delay_; }
  /// Whether a send from an LP to another one keeps what is promised.
  bool allow(LpId from, LpId to, Duration delay) const {
    const Edge* const edge = find(from, to);
    if (edge != nullptr) return delay >= edge->minimum_delay;
    return !complete_ && delay >= lookahead_;
  }

  /// What holds for pairs of different LPs that have no edge, if these may communicate.
  Duration lookahead() const { return lookahead_; }
  /// Pairs without an edge do not communicate.
  bool complete() const { return complete_; }
  /// No delay is promised, and no pair excluded.
  bool empty() const { return free_delay_ == Duration::zero(); }
  /// The smallest delay from an LP to another one; nothing if these do not communicate.
  std::optional<Duration> minimum_delay(LpId from, LpId to) const;
  /// By receiver. Without those that say no more than lookahead(), if the graph is not complete.
  std::span<const Edge> edges_from(LpId from) const {
    if (starts_.empty()) return {};
    return {edges_.data() + starts_[from], edges_.data() + starts_[from + 1]};
  }
  /// Calls visit(from, edge) for all of them, in order.
  template <class Visit>
  void for_each_edge(Visit&& visit) const {
    for (std::size_t from = 0; from + 1 < starts_.size(); ++from)
      for (const Edge& edge : edges_from(static_cast<LpId>(from)))
        visit(static_cast<LpId>(from), edge);
  }
  std::size_t edge_count() const { return edges_.size(); }
  std::size_t bytes() const {
    return edges_.size() * sizeof(Edge) + starts_.size() * sizeof(std::uint32_t);
  }

 private:
  /// Rows up to here are looked through from the start, others by halves.
  static constexpr std::uint32_t kShortRow = 8;

  [[gnu::always_inline]] const Edge* find(LpId from, LpId to) const {
    if (starts_.empty()) return nullptr;
    const Edge* edge = edges_.data() + starts_[from];
    const Edge* const end = edges_.data() + starts_[from + 1];
    if (end - edge > kShortRow) return find_by_halves(edge, end, to);
    for (; edge != end; ++edge)
      if (edge->to == to) return edge;
    return nullptr;
  }
  static const Edge* find_by_halves(const Edge* edge, const Edge* end, LpId to);

  void fill(const CommunicationGraph& graph, std::uint64_t lps);
  void merge_rows();

  Duration lookahead_, free_delay_;
  bool complete_ = false;
  std::vector<std::uint32_t, HugePageAllocator<std::uint32_t>> starts_;  ///< empty: no edges
  std::vector<Edge, HugePageAllocator<Edge>> edges_;
};

}  // namespace orrery
