// SPDX-License-Identifier: Apache-2.0
#include "run/world/placement.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>

#ifdef ORRERY_HAVE_METIS
#include <metis.h>
#endif

#include "run/execution/promises.h"
#include "run/world/partition_file.h"
#include "run/world/world.h"

namespace orrery {
namespace {

std::vector<std::uint16_t> contiguous_blocks(std::uint64_t lps, unsigned workers) {
  std::vector<std::uint16_t> owner(lps);
  for (std::uint64_t id = 0; id < lps; ++id)
    owner[id] = static_cast<std::uint16_t>(id * workers / lps);
  return owner;
}

#ifdef ORRERY_HAVE_METIS
/// The vertices of METIS' graph: LPs, or whole clusters of LPs (clusters.h), of all LPs or of those
/// of one rank.
class Vertices {
 public:
  static constexpr LpId kNone = ~LpId{0};  ///< of an LP that is not assigned here

  /// `ranks` empty: all LPs. No cluster spans ranks.
  Vertices(const Clusters& clusters, std::uint64_t lps,
           const std::vector<std::uint16_t>& ranks = {}, unsigned rank = 0)
      : count_(lps) {
    if (!clusters.any() && ranks.empty()) return;
    of_.resize(lps, kNone);
    count_ = 0;
    for (std::uint64_t id = 0; id < lps; ++id) {
      if (!ranks.empty() && ranks[id] != rank) continue;
      const LpId lowest = clusters.of(static_cast<LpId>(id));
      of_[id] = lowest == id ? static_cast<LpId>(count_++) : of_[lowest];
    }
  }
  LpId of(LpId id) const { return of_.empty() ? id : of_[id]; }
  std::uint64_t count() const { return count_; }

 private:
  std::uint64_t count_;
  std::vector<LpId> of_;  ///< vertex of each LP; empty: its number
};

/// Factor on the weight of an edge; 1 for a very long delay.
class DelayFactor {
 public:
  DelayFactor(const CommunicationGraph& graph, CutRule rule) {
    if (rule == CutRule::fewest) return;
    for (const auto& edge : graph.edges()) {
      const auto ticks = static_cast<double>(edge.minimum_delay.ticks());
      if (ticks > 0 && (shortest_ == 0 || ticks < shortest_)) shortest_ = ticks;
    }
  }
  std::uint64_t of(const CommunicationGraph::Edge& edge) const {
    if (shortest_ == 0) return 1;
    const auto ticks = static_cast<double>(edge.minimum_delay.ticks());
    return static_cast<std::uint64_t>(kMost * std::min(1.0, shortest_ / std::max(ticks, 1.0))) + 1;
  }

 private:
  static constexpr double kMost = 15;
  double shortest_ = 0;  ///< smallest positive promise; 0: delays do not matter
};

/// The graph in METIS' format: undirected, without loops, parallel edges merged.
struct Adjacency {
  std::vector<idx_t> start, neighbour, weight, load;
};

Adjacency adjacency(const CommunicationGraph& graph, const Vertices& vertices,
                    const DelayFactor& factor) {
  struct Arc {
    LpId from, to;
    std::uint64_t weight;
  };
  std::vector<Arc> arcs;
  arcs.reserve(graph.edges().size() * 2);
  Adjacency result;
  result.load.assign(vertices.count(), 1);
  for (const auto& edge : graph.edges()) {
    const LpId from = vertices.of(edge.from), to = vertices.of(edge.to);
    if (to == Vertices::kNone) continue;
    // An LP's load is the number of events that it receives.
    result.load[to] += static_cast<idx_t>(std::min(edge.weight, 1u << 16));
    if (from == to || from == Vertices::kNone) continue;
    const std::uint64_t weight = edge.weight * factor.of(edge);
    arcs.push_back({from, to, weight});
    arcs.push_back({to, from, weight});
  }
  std::sort(arcs.begin(), arcs.end(), [](const auto& a, const auto& b) {
    return a.from != b.from ? a.from < b.from : a.to < b.to;
  });
  result.start.assign(vertices.count() + 1, 0);
  for (std::size_t i = 0; i < arcs.size();) {
    std::uint64_t weight = 0;
    const auto arc = arcs[i];
    for (; i < arcs.size() && arcs[i].from == arc.from && arcs[i].to == arc.to; ++i)
      weight += arcs[i].weight;
    result.neighbour.push_back(static_cast<idx_t>(arc.to));
    result.weight.push_back(static_cast<idx_t>(std::min<std::uint64_t>(weight, 1u << 20)));
    ++result.start[arc.from + 1];
  }
  for (std::uint64_t id = 0; id < vertices.count(); ++id) result.start[id + 1] += result.start[id];
  return result;
}

/// METIS prints warnings on standard output, where a report may be expected. While one thread sets
/// a run up, no other thread writes there.
class Silence {
 public:
  Silence() : kept_(dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (kept_ >= 0 && nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
    if (nowhere >= 0) close(nowhere);
  }
  ~Silence() {
    std::fflush(stdout);
    if (kept_ < 0) return;
    dup2(kept_, STDOUT_FILENO);
    close(kept_);
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  const int kept_;
};

/// An LP with more than a worker's share counts as one share: otherwise METIS would leave workers
/// without LPs to compensate.
void limit_loads(std::vector<idx_t>& loads, unsigned workers) {
  const auto sum = std::accumulate(loads.begin(), loads.end(), std::int64_t{0});
  const auto share =
      static_cast<idx_t>(std::min<std::int64_t>(sum / workers, std::numeric_limits<idx_t>::max()));
  for (idx_t& load : loads) load = std::min(load, std::max<idx_t>(share, 1));
}

/// METIS uses one random state of the process, and its output is suppressed: one thread at a time,
/// so that ranks which are threads of one process get the same results as ranks that are processes.
std::mutex& metis_mutex() {
  static std::mutex mutex;
  return mutex;
}

bool each_has_some(const std::vector<idx_t>& part, unsigned workers) {
  std::vector<char> has(workers);
  for (const idx_t one : part) has[static_cast<std::size_t>(one)] = 1;
  return std::find(has.begin(), has.end(), 0) == has.end();
}

bool partition(const CommunicationGraph& graph, const Vertices& all, CutRule rule, unsigned workers,
               std::vector<std::uint16_t>& owner) {
  if (all.count() <= workers) return false;
  Adjacency a = adjacency(graph, all, DelayFactor(graph, rule));
  limit_loads(a.load, workers);
  idx_t vertices = static_cast<idx_t>(all.count()), constraints = 1,
        parts = static_cast<idx_t>(workers);
  idx_t options[METIS_NOPTIONS], cut = 0;
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = 1;
  std::vector<idx_t> part(all.count());
  const std::lock_guard lock(metis_mutex());
  const Silence silence;
  // Uses the second method if the first leaves a part empty, as for a star with a busy centre.
  const auto divides = [&](decltype(&METIS_PartGraphKway) method) {
    const int status =
        method(&vertices, &constraints, a.start.data(), a.neighbour.data(), a.load.data(), nullptr,
               a.weight.data(), &parts, nullptr, nullptr, options, &cut, part.data());
    return status == METIS_OK && each_has_some(part, workers);
  };
  if (!divides(METIS_PartGraphKway) && !divides(METIS_PartGraphRecursive)) return false;
  for (std::uint64_t id = 0; id < owner.size(); ++id)
    if (const LpId vertex = all.of(static_cast<LpId>(id)); vertex != Vertices::kNone)
      owner[id] = static_cast<std::uint16_t>(part[vertex]);
  return true;
}
#endif

/// The clusters that must be kept together.
Clusters clusters_for(CutRule rule, const Model& model, const CommunicationGraph& graph) {
  return rule == CutRule::long_delays ? clusters_of(model, graph) : Clusters();
}

/// `clusters`: those of the rule.
std::vector<std::uint16_t> deal(std::uint64_t lps, const CommunicationGraph& graph,
                                [[maybe_unused]] const Clusters& clusters, unsigned workers,
                                std::vector<std::string>& notes, [[maybe_unused]] CutRule rule) {
  std::vector<std::uint16_t> owner = contiguous_blocks(lps, workers);
  if (workers == 1 || lps <= workers || graph.edges().empty()) return owner;
#ifdef ORRERY_HAVE_METIS
  const Vertices vertices(clusters, lps);
  // With few LPs METIS may leave a worker without any; blocks are as good there.
  constexpr std::uint64_t kFew = 8;
  if (!partition(graph, vertices, rule, workers, owner) && lps > kFew * workers)
    notes.push_back("METIS could not partition the communication graph: LPs lie in blocks");
#else
  notes.push_back("built without METIS: the communication graph is not used, LPs lie in blocks");
#endif
  return owner;
}

/// Assigns each cluster to the owner of its lowest LP.
void join_clusters(std::vector<std::uint16_t>& owner, const Clusters& clusters) {
  if (!clusters.any()) return;
  for (LpId id = 0; id < owner.size(); ++id) owner[id] = owner[clusters.of(id)];
}

/// Blocks of this rank's LPs by number; kElsewhere for LPs of other ranks.
std::vector<std::uint16_t> blocks_of_rank(const std::vector<std::uint16_t>& ranks,
                                          const RankPlace& place, unsigned workers) {
  const auto here = static_cast<std::uint64_t>(
      std::count(ranks.begin(), ranks.end(), static_cast<std::uint16_t>(place.rank)));
  std::vector<std::uint16_t> parts(ranks.size(), World::kElsewhere);
  std::uint64_t dealt = 0;
  for (std::size_t id = 0; id < ranks.size(); ++id)
    if (ranks[id] == place.rank) parts[id] = static_cast<std::uint16_t>(dealt++ * workers / here);
  return parts;
}

}  // namespace

std::vector<std::uint16_t> place_lps(const Model& model, const CommunicationGraph& graph,
                                     unsigned workers, std::vector<std::string>& notes,
                                     CutRule rule) {
  return deal(model.lp_count(), graph, clusters_for(rule, model, graph), workers, notes, rule);
}

World::Layout place_lps(const Model& model, const CommunicationGraph& graph,
                        const RunOptions& options, unsigned workers,
                        std::vector<std::string>& notes, CutRule rule) {
  const RankPlace& place = options.place;
  const bool over_ranks = place.ranks > 1;
  const unsigned parts = over_ranks ? place.ranks : workers;
  const PartKind kind = over_ranks ? PartKind::rank : PartKind::worker;
  const Clusters clusters = clusters_for(rule, model, graph);
  const std::string& given = options.get(partition_option());
  std::vector<std::uint16_t> part_of =
      given.empty() ? deal(model.lp_count(), graph, clusters, parts, notes, rule)
                    : read_partition(given, model.lp_count(), parts, kind, clusters, notes);
  join_clusters(part_of, clusters);
  const std::string& wanted = options.get(write_partition_option());
  if (!wanted.empty() && place.rank == 0) write_partition(wanted, part_of, parts, kind);
  World::Layout placed{.parts = {}, .arenas = {}, .part_count = workers, .place = place};
  if (!over_ranks) {
    placed.parts = std::move(part_of);
    return placed;
  }
  placed.ranks = std::move(part_of);
  placed.parts = blocks_of_rank(placed.ranks, place, workers);
#ifdef ORRERY_HAVE_METIS
  if (workers > 1 && !graph.edges().empty())
    partition(graph, Vertices(clusters, model.lp_count(), placed.ranks, place.rank), rule, workers,
              placed.parts);
#endif
  return placed;
}

}  // namespace orrery
