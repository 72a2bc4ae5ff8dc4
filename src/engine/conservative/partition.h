// SPDX-License-Identifier: Apache-2.0
//
// Who executes which LPs. Each worker has some *blocks* of LPs, kBlocksAWorker at first: fine
// enough to even loads out, and few enough that the delays between all pairs of them are one small
// table, so that what workers promise each other after a move needs no look at the model's
// promises.
//
// A block lies within what the world's table of parts gives to one worker, in which neighbours by
// number are mostly neighbours in the model. LPs that may reach each other without delay are in one
// block (run/clusters.h).
//
// Where there are other ranks, each of them is one more block, which never moves, and one more that
// workers hear promises of: a *node*. Behind the workers come the other ranks, in order. How those
// deal their LPs among their own workers is no business of this one.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/conservative/lookaheads.h"
#include "run/world.h"

namespace orrery::conservative {

class Partition {
 public:
  /// `workers`: two or more, or one of several ranks; no more than clusters of LPs.
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
  /// Those of this rank come first.
  unsigned own_blocks() const { return blocks() - (nodes_ - workers_); }
  unsigned block_of(LpId id) const { return blocks_[id]; }
  /// Nodes by LP, for the path of sends; it stays where it is.
  const std::uint16_t* owners() const { return owners_.data(); }
  const std::vector<std::uint16_t>& owners_of_blocks() const { return owners_of_blocks_; }
  /// Between the nodes, by what they have.
  const Lookaheads& lookaheads() const { return between_nodes_; }
  std::size_t bytes() const {
    return (blocks_.capacity() + owners_.capacity()) * sizeof(std::uint16_t);
  }

  // ---- While nobody executes

  /// Blocks go to other workers.
  void give_blocks(const std::vector<std::uint16_t>& owners_of_blocks);
  /// Owners under whom `loads`, by block, lie more evenly: one block after another goes from the
  /// worker with most to the one with least, as long as that brings the most down, those first
  /// that share promises with blocks there. The present owners if nothing is gained.
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
  std::vector<std::uint32_t> edges_;  ///< promises between two blocks, both directions; or none
};

}  // namespace orrery::conservative
