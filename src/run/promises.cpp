// SPDX-License-Identifier: Apache-2.0
#include "run/promises.h"

#include <fmt/format.h>

#include <limits>

#include "core/duration_text.h"
#include "orrery/error.h"
#include "run/model_checks.h"

namespace orrery {
namespace {

/// Calls visit(from, to, minimum delay) for what the graph says of directed pairs. Hints say
/// something only where the rest is excluded.
template <class Visit>
void for_each_pair(const CommunicationGraph& graph, Duration lookahead, Visit&& visit) {
  for (const CommunicationGraph::Edge& edge : graph.edges()) {
    if (edge.from == edge.to) continue;
    if (!graph.is_complete() && edge.minimum_delay <= lookahead) continue;
    visit(edge.from, edge.to, std::max(edge.minimum_delay, lookahead));
    if (!edge.promised) visit(edge.to, edge.from, lookahead);
  }
}

}  // namespace

Promises::Promises(const Model& model, const CommunicationGraph& graph)
    : lookahead_(call_model("lookahead()", [&] { return model.lookahead(); })),
      free_delay_(lookahead_),
      complete_(graph.is_complete()) {
  if (lookahead_ < Duration::zero()) {
    throw UsageError(fmt::format("the model's lookahead() is {}; a smallest delay is 0 or more",
                                 duration_text(lookahead_, model.tick_seconds())));
  }
  fill(graph, model.lp_count());
  merge_rows();
  for (const Edge& edge : edges_) free_delay_ = std::max(free_delay_, edge.minimum_delay);
  if (complete_) free_delay_ = Duration::max();
}

/// Counted, then put in place: a graph of millions of edges is not sorted as a whole.
void Promises::fill(const CommunicationGraph& graph, std::uint64_t lps) {
  std::uint64_t pairs = 0;
  for_each_pair(graph, lookahead_, [&](LpId, LpId, Duration) { ++pairs; });
  if (pairs == 0) return;
  if (pairs > std::numeric_limits<std::uint32_t>::max()) {
    throw UsageError(
        fmt::format("the model's communication graph has {} directed pairs; {} are possible", pairs,
                    std::numeric_limits<std::uint32_t>::max()));
  }
  // Two ahead, so that what counts where a row ends is, when all are in place, where it begins.
  starts_.resize(lps + 2);
  for_each_pair(graph, lookahead_, [&](LpId from, LpId, Duration) { ++starts_[from + 2]; });
  for (std::size_t id = 2; id < starts_.size(); ++id) starts_[id] += starts_[id - 1];
  edges_.resize(pairs);
  for_each_pair(graph, lookahead_, [&](LpId from, LpId to, Duration minimum_delay) {
    edges_[starts_[from + 1]++] = {to, minimum_delay};
  });
  starts_.pop_back();
}

/// Each row by receiver, each receiver once, with the largest of its promises.
void Promises::merge_rows() {
  std::uint32_t kept = 0;
  for (std::size_t from = 0; from + 1 < starts_.size(); ++from) {
    const auto begin = edges_.begin() + starts_[from], end = edges_.begin() + starts_[from + 1];
    std::sort(begin, end, [](const Edge& a, const Edge& b) { return a.to < b.to; });
    starts_[from] = kept;
    for (auto edge = begin; edge != end; ++edge) {
      if (kept > starts_[from] && edges_[kept - 1].to == edge->to) {
        Duration& minimum_delay = edges_[kept - 1].minimum_delay;
        minimum_delay = std::max(minimum_delay, edge->minimum_delay);
      } else {
        edges_[kept++] = *edge;
      }
    }
  }
  if (!starts_.empty()) starts_.back() = kept;
  edges_.resize(kept);
}

std::optional<Duration> Promises::minimum_delay(LpId from, LpId to) const {
  if (from == to) return Duration::zero();
  if (const Edge* const edge = find(from, to)) return edge->minimum_delay;
  if (complete_) return std::nullopt;
  return lookahead_;
}

const Promises::Edge* Promises::find_by_halves(const Edge* edge, const Edge* end, LpId to) {
  auto count = static_cast<std::size_t>(end - edge);
  while (count > 1) {
    const std::size_t half = count / 2;
    if (edge[half].to <= to) edge += half;  // a conditional move
    count -= half;
  }
  return edge->to == to ? edge : nullptr;
}

}  // namespace orrery
