// SPDX-License-Identifier: Apache-2.0
//
// How the ranks of a run agree on the next step while none of their engines executes: rank 0
// decides, by its own clock, and all ranks follow. Only rank 0 has a policy, which uses counts that
// are the same on all ranks. This costs one exchange between two hand-overs, which take far longer.
#pragma once

#include <type_traits>

#include "transport/ranks/bytes.h"
#include "transport/ranks/rank_transport.h"

namespace orrery::automatic {

class Agreement {
 public:
  /// `ranks`: null if the run has only one rank.
  explicit Agreement(transport::RankTransport* ranks) : ranks_(ranks) {}

  bool over_ranks() const { return ranks_ != nullptr; }
  /// Whether this rank is the one that decides.
  bool decides() const { return ranks_ == nullptr || ranks_->rank() == 0; }

  /// Returns rank 0's `own`. All ranks must call this, in the same order.
  template <class Decision>
  Decision of_rank_0(const Decision& own) const {
    static_assert(std::is_trivially_copyable_v<Decision>);
    if (ranks_ == nullptr) return own;
    transport::ByteWriter writer;
    writer.put(own);
    return transport::ByteReader(ranks_->gather_everywhere(writer.take())[0]).get<Decision>();
  }

 private:
  transport::RankTransport* const ranks_;
};

}  // namespace orrery::automatic
