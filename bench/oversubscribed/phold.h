// SPDX-License-Identifier: Apache-2.0
//
// PHOLD (Fujimoto: Performance of Time Warp under synthetic workloads, 1990): one event an LP, each
// of which sends one, to an LP anywhere with a given probability, else to its own.
#pragma once

#include "setting.h"

namespace oversubscribed {

class Phold {
 public:
  struct State {
    std::uint64_t visits;
  };
  static constexpr Ticks kLookahead = 100;  ///< a tenth of the mean delay

  explicit Phold(const Setting& setting) : lps_(setting.lps), remote_(setting.remote / 100.0) {}

  void begin(std::uint32_t lp, State&, Draws& draws, Sends& sends) const {
    sends.to(lp, 1 + draws.exponential(10 * kLookahead));
  }
  void handle(const Event& event, State& state, Draws& draws, Sends& sends) const {
    ++state.visits;
    const Ticks delay = kLookahead + draws.exponential(9 * kLookahead);
    sends.to(draws.happens(remote_) ? draws.below(lps_) : event.lp, delay);
  }

 private:
  const std::uint32_t lps_;
  const double remote_;
};

}  // namespace oversubscribed
