// SPDX-License-Identifier: Apache-2.0
//
// What the ranks of a run settle while none of their engines works: rank 0 decides what is done
// next, by its own clock, and all do that. Only there does a policy learn, from counts that are the
// same everywhere. It costs one exchange between two hand-overs, which take far longer.
#pragma once

#include <type_traits>

#include "transport/ranks/bytes.h"
#include "transport/ranks/rank_transport.h"

namespace orrery::automatic {

class Agreement {
 public:
  /// `ranks` null: there is one, which agrees with itself.
  explicit Agreement(transport::RankTransport* ranks) : ranks_(ranks) {}

  bool over_ranks() const { return ranks_ != nullptr; }
  /// Whether this rank is the one that decides.
  bool decides() const { return ranks_ == nullptr || ranks_->rank() == 0; }

  /// What rank 0 calls it with; all ranks call it, in the same order.
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
