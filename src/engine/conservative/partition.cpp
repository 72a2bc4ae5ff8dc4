// SPDX-License-Identifier: Apache-2.0
#include "engine/conservative/partition.h"

#include <algorithm>
#include <numeric>

namespace orrery::conservative {
namespace {

/// The delay between blocks for which the model promises no delay of its own.
std::int64_t general_delay(const Promises& promises) {
  return promises.complete() ? kNever : promises.lookahead().ticks();
}

}  // namespace

Partition::Partition(const World& world, unsigned workers)
    : workers_(workers),
      nodes_(workers + world.place().ranks - 1),
      rank_(world.place().rank),
      owners_(world.lp_count()),
      owners_of_blocks_(
          (workers_ == 1 ? 1
                         : std::max(workers_, std::min(kBlocksAWorker * workers_, kMostBlocks))) +
          nodes_ - workers_),
      between_blocks_(blocks(), general_delay(world.promises())),
      between_nodes_(nodes_, kNever) {
  deal(world);
  measure_delays(world.promises());
  join_delays();
}

/// Assigns LPs to blocks. An LP goes to the block of its cluster's lowest LP, which was assigned
/// before.
void Partition::deal(const World& world) {
  const LpId lps = world.lp_count();
  const Clusters& clusters = world.promises().clusters();
  const auto owner_of = [&](LpId id) {
    return world.parts() >= workers_ ? world.worker_of(world.part_of(id), workers_)
                                     : static_cast<unsigned>(std::uint64_t{id} * workers_ / lps);
  };
  std::vector<std::uint64_t> counts(workers_), dealt(workers_);
  for (LpId id = 0; id < lps; ++id)
    if (clusters.of(id) == id && world.is_here(id)) ++counts[owner_of(id)];
  blocks_.resize(lps);
  for (LpId id = 0; id < lps; ++id) {
    const LpId first = clusters.of(id);
    if (first != id) {
      blocks_[id] = blocks_[first];
      continue;
    }
    if (!world.is_here(id)) {
      const unsigned other = node_of_rank(world.rank_of(id)) - workers_;
      blocks_[id] = static_cast<std::uint16_t>(own_blocks() + other);
      continue;
    }
    const unsigned owner = owner_of(id);
    const unsigned first_block = (owner * own_blocks() + workers_ - 1) / workers_;
    const unsigned end_block = ((owner + 1) * own_blocks() + workers_ - 1) / workers_;
    blocks_[id] = static_cast<std::uint16_t>(
        first_block + dealt[owner]++ * (end_block - first_block) / counts[owner]);
  }
  for (unsigned block = 0; block < own_blocks(); ++block)
    owners_of_blocks_[block] = static_cast<std::uint16_t>(block * workers_ / own_blocks());
  for (unsigned block = own_blocks(); block < blocks(); ++block)
    owners_of_blocks_[block] = static_cast<std::uint16_t>(workers_ + block - own_blocks());
  for (LpId id = 0; id < lps; ++id) owners_[id] = owners_of_blocks_[blocks_[id]];
}

/// Promises for single pairs of LPs count only if LPs without one do not communicate. Otherwise the
/// general promise decides: it is the lowest, and a pair of blocks may have LPs without a promise
/// of their own.
void Partition::measure_delays(const Promises& promises) {
  std::vector<char> inhabited(blocks());
  for (const std::uint16_t block : blocks_) inhabited[block] = 1;
  for (unsigned block = 0; block < blocks(); ++block)
    if (inhabited[block] == 0) between_blocks_.exclude(block);
  if (!promises.complete()) return;
  edges_.resize(std::size_t{blocks()} * blocks());
  promises.for_each_edge([this](LpId from, const Promises::Edge& edge) {
    const unsigned a = blocks_[from], b = blocks_[edge.to];
    if (a == b) return;
    between_blocks_.shorten(a, b, edge.minimum_delay.ticks());
    ++edges_[std::size_t{a} * blocks() + b];
    ++edges_[std::size_t{b} * blocks() + a];
  });
}

void Partition::join_delays() {
  between_nodes_ = Lookaheads(nodes_, kNever);
  for (unsigned from = 0; from < blocks(); ++from)
    for (unsigned to = 0; to < blocks(); ++to) {
      const unsigned a = owners_of_blocks_[from], b = owners_of_blocks_[to];
      if (a != b) between_nodes_.shorten(a, b, between_blocks_.direct(from, to));
    }
  between_nodes_.find_paths();
}

void Partition::give_blocks(const std::vector<std::uint16_t>& owners_of_blocks) {
  owners_of_blocks_ = owners_of_blocks;
  for (LpId id = 0; id < owners_.size(); ++id) owners_[id] = owners_of_blocks_[block_of(id)];
  join_delays();
}

std::uint64_t Partition::ties(unsigned block, unsigned worker,
                              const std::vector<std::uint16_t>& owners) const {
  if (edges_.empty()) return 0;
  std::uint64_t sum = 0;
  for (unsigned other = 0; other < blocks(); ++other)
    if (owners[other] == worker) sum += edges_[std::size_t{block} * blocks() + other];
  return sum;
}

std::vector<std::uint16_t> Partition::even_out(const std::vector<double>& loads) const {
  std::vector<std::uint16_t> owners = owners_of_blocks_;
  std::vector<double> sums(workers_);
  for (unsigned block = 0; block < own_blocks(); ++block) sums[owners[block]] += loads[block];
  for (unsigned moves = 0; moves < own_blocks(); ++moves) {
    const auto most =
        static_cast<unsigned>(std::max_element(sums.begin(), sums.end()) - sums.begin());
    const auto least =
        static_cast<unsigned>(std::min_element(sums.begin(), sums.end()) - sums.begin());
    const double gap = sums[most] - sums[least];
    const auto gain = [&](unsigned block) { return std::min(loads[block], gap - loads[block]); };
    double best_gain = 0;
    for (unsigned block = 0; block < own_blocks(); ++block)
      if (owners[block] == most) best_gain = std::max(best_gain, gain(block));
    if (best_gain < 0.02 * sums[most]) break;
    unsigned best = blocks();
    std::int64_t best_ties = 0;
    for (unsigned block = 0; block < own_blocks(); ++block) {
      if (owners[block] != most || gain(block) < best_gain / 2) continue;
      const auto kept = static_cast<std::int64_t>(ties(block, least, owners)) -
                        static_cast<std::int64_t>(ties(block, most, owners));
      if (best != blocks() && kept <= best_ties) continue;
      best = block;
      best_ties = kept;
    }
    owners[best] = static_cast<std::uint16_t>(least);
    sums[most] -= loads[best];
    sums[least] += loads[best];
  }
  return owners;
}

}  // namespace orrery::conservative
