// SPDX-License-Identifier: Apache-2.0
#include "run/execution/promises.h"

#include <fmt/format.h>

#include <limits>

#include "core/duration_text.h"
#include "orrery/error.h"
#include "run/options/model_checks.h"

namespace orrery {
namespace {

/// Calls visit(from, to, minimum delay) for the directed pairs in the graph. Hints matter only in a
/// complete graph.
template <class Visit>
void for_each_pair(const CommunicationGraph& graph, Duration lookahead, Visit&& visit) {
  for (const CommunicationGraph::Edge& edge : graph.edges()) {
    if (edge.from == edge.to) continue;
    if (!graph.is_complete() && edge.minimum_delay <= lookahead) continue;
    visit(edge.from, edge.to, std::max(edge.minimum_delay, lookahead));
    if (!edge.promised) visit(edge.to, edge.from, lookahead);
  }
}

std::uint64_t count_pairs(const CommunicationGraph& graph, Duration lookahead) {
  std::uint64_t pairs = 0;
  for_each_pair(graph, lookahead, [&](LpId, LpId, Duration) { ++pairs; });
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max() - 1;
  if (pairs <= kMost) return pairs;
  throw UsageError(fmt::format(
      "the model's communication graph has {} directed pairs; {} are possible", pairs, kMost));
}

}  // namespace

Promises::Promises(const Model& model, const CommunicationGraph& graph)
    : lookahead_(lookahead_of(model)), free_delay_(lookahead_), complete_(graph.is_complete()) {
  const std::uint64_t pairs = count_pairs(graph, lookahead_);
  if (lookahead_ == Duration::zero() && !complete_) {
    if (model.lp_count() > 1) clusters_ = Clusters::of_all();
    if (pairs == 0) return;
  }
  fill(graph, pairs, model.lp_count());
  merge_rows();
  make_buckets();
  for (const Edge& edge : edges_) free_delay_ = std::max(free_delay_, edge.minimum_delay);
  if (complete_) free_delay_ = Duration::max();
  if (complete_ && lookahead_ == Duration::zero()) find_clusters(model.lp_count());
}

void Promises::find_clusters(std::uint64_t lps) {
  for_each_edge([&](LpId from, const Edge& edge) {
    if (edge.minimum_delay > Duration::zero()) return;
    if (!clusters_.any()) clusters_ = Clusters(lps);
    clusters_.merge(from, edge.to);
  });
}

/// Counting sort by sender, since a graph of millions of edges is not sorted as a whole.
void Promises::fill(const CommunicationGraph& graph, std::uint64_t pairs, std::uint64_t lps) {
  // Counts at from + 2: placement then increments from + 1, which leaves each row's beginning.
  starts_.resize(lps + 2);
  for_each_pair(graph, lookahead_, [&](LpId from, LpId, Duration) { ++starts_[from + 2]; });
  for (std::size_t id = 2; id < starts_.size(); ++id) starts_[id] += starts_[id - 1];
  edges_.reserve(pairs + 1);
  edges_.resize(pairs);
  for_each_pair(graph, lookahead_, [&](LpId from, LpId to, Duration minimum_delay) {
    edges_[starts_[from + 1]++] = {to, 0, minimum_delay};
  });
  starts_.pop_back();
}

/// Sorts each row by bucket, and keeps each receiver once, with its largest promise.
void Promises::merge_rows() {
  std::uint32_t kept = 0;
  for (std::size_t from = 0; from + 1 < starts_.size(); ++from) {
    const auto begin = edges_.begin() + starts_[from], end = edges_.begin() + starts_[from + 1];
    std::sort(begin, end, [](const Edge& a, const Edge& b) {
      return std::pair(a.to * kHashFactor, a.minimum_delay) <
             std::pair(b.to * kHashFactor, b.minimum_delay);
    });
    starts_[from] = kept;
    for (auto edge = begin; edge != end; ++edge) {
      if (kept > starts_[from] && edges_[kept - 1].to == edge->to) --kept;
      edges_[kept++] = *edge;
    }
  }
  starts_.back() = kept;
  edges_.resize(kept + 1);
}

void Promises::make_buckets() {
  for (std::size_t from = 0; from + 1 < starts_.size(); ++from) {
    const std::uint32_t row = starts_[from], end = starts_[from + 1];
    std::uint32_t edge = row;
    for (std::uint32_t bucket = 0; bucket < end - row; ++bucket) {
      while (edge < end && bucket_of(edges_[edge].to, end - row) < bucket) ++edge;
      edges_[row + bucket].bucket = edge;
    }
  }
  edges_.back() = {0, starts_.back(), lookahead_};
}

Clusters clusters_of(const Model& model, const CommunicationGraph& graph) {
  const auto at_once = [](const auto& edge) { return edge.minimum_delay <= Duration::zero(); };
  if (std::none_of(graph.edges().begin(), graph.edges().end(), at_once)) return {};
  return Promises(model, graph).clusters();
}

std::optional<Duration> Promises::minimum_delay(LpId from, LpId to) const {
  if (from == to) return Duration::zero();
  if (starts_.empty()) return lookahead_;
  if (const Edge* const edge = find(from, to)) return edge->minimum_delay;
  if (complete_) return std::nullopt;
  return lookahead_;
}

}  // namespace orrery
