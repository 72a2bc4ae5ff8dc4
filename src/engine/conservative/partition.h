// SPDX-License-Identifier: Apache-2.0
//
// Which worker executes which LPs. Each worker has some *blocks* of LPs, kBlocksAWorker at first:
// small enough to even loads out, and few enough that the delays between all pairs of blocks are
// one small table, so that after a move the delays between workers follow from that table, without
// the model's promises.
//
// The LPs of a block are in the same worker's part of the world's table, in which neighbours by
// number are mostly neighbours in the model. LPs that may reach each other without delay are in one
// block (run/execution/clusters.h).
//
// Where there are other ranks, each of them is one more block, which never moves. A *node* is a
// source of promises: a worker of this rank or another rank. Nodes are numbered: first the workers,
// then the other ranks, in order. How another rank distributes its LPs among its workers does not
// matter here.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/conservative/lookaheads.h"
#include "run/world/world.h"

namespace orrery::conservative {

class Partition {
 public:
  /// `workers`: two or more, or one if there are several ranks; no more than clusters of LPs.
  Partition(const World& world, unsigned workers);

  unsigned workers() const { return workers_; }
  /// Workers, and other ranks.
  unsigned nodes() const { return nodes_; }
  unsigned node_of_rank(unsigned rank) const { return workers_ + rank - (rank > rank_ ? 1 : 0); }
  unsigned rank_of_node(unsigned node) const {
    const unsigned other = node - workers_;
    return other + (other >= rank_ ? 1 : 0);
  }
  unsigned blocks() const { return static_cast<unsigned>(owners_of_blocks_.size()); }
  /// Whether this rank's LPs send to that node, another rank.
  bool reaches(unsigned node) const {
    for (unsigned worker = 0; worker < workers_; ++worker)
      if (between_nodes_.direct(worker, node) != kNever) return true;
    return false;
  }
  /// Blocks of this rank, which come first.
  unsigned own_blocks() const { return blocks() - (nodes_ - workers_); }
  unsigned block_of(LpId id) const { return blocks_[id]; }
  /// The node of each LP, for sends. The pointer stays valid.
  const std::uint16_t* owners() const { return owners_.data(); }
  const std::vector<std::uint16_t>& owners_of_blocks() const { return owners_of_blocks_; }
  /// The delays between nodes, by the blocks that they have now.
  const Lookaheads& lookaheads() const { return between_nodes_; }
  std::size_t bytes() const {
    return (blocks_.capacity() + owners_.capacity()) * sizeof(std::uint16_t);
  }

  // ---- Only while no worker executes

  /// Sets the owners of all blocks.
  void give_blocks(const std::vector<std::uint16_t>& owners_of_blocks);
  /// Returns owners of blocks with more even loads; `loads` is by block. One block after another
  /// goes from the worker with the most load to the worker with the least, as long as that reduces
  /// the highest load; blocks that share promises with blocks of the new owner are preferred.
  /// Returns the present owners if nothing is gained.
  std::vector<std::uint16_t> even_out(const std::vector<double>& loads) const;

 private:
  static constexpr unsigned kBlocksAWorker = 8;
  static constexpr unsigned kMostBlocks = 512;  ///< unless there are more workers

  void deal(const World& world);
  void measure_delays(const Promises& promises);
  void join_delays();
  std::uint64_t ties(unsigned block, unsigned worker,
                     const std::vector<std::uint16_t>& owners) const;

  const unsigned workers_, nodes_, rank_;
  std::vector<std::uint16_t> blocks_;  ///< of each LP
  std::vector<std::uint16_t> owners_;  ///< of each LP
  std::vector<std::uint16_t> owners_of_blocks_;
  Lookaheads between_blocks_, between_nodes_;
  std::vector<std::uint32_t> edges_;  ///< promises between two blocks, in both directions, or empty
};

}  // namespace orrery::conservative
