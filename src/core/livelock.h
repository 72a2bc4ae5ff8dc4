// SPDX-License-Identifier: Apache-2.0
//
// Who took part in a livelock: when an event's microstep comes near the limit, engines note its LP,
// and the fault names them. Costs one comparison an event.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/key.h"

namespace orrery {

class LivelockTrail {
 public:
  explicit LivelockTrail(std::uint32_t limit) : from_(limit > kSteps ? limit - kSteps : 1) {}

  void note(const Key& key, LpId lp) {
    if (key.microstep() >= from_) [[unlikely]]
      add(lp);
  }
  const std::vector<LpId>& lps() const { return lps_; }

  /// "; LPs on it: 3, 5, 8 and others" or "".
  static std::string text(std::vector<LpId> lps) {
    if (lps.empty()) return "";
    std::sort(lps.begin(), lps.end());
    lps.erase(std::unique(lps.begin(), lps.end()), lps.end());
    std::string text = "; LPs on it:";
    for (std::size_t i = 0; i < lps.size() && i < kNamed; ++i)
      text += (i == 0 ? " " : ", ") + std::to_string(lps[i]);
    return lps.size() > kNamed ? text + " and others" : text;
  }

 private:
  static constexpr std::uint32_t kSteps = 64;
  static constexpr std::size_t kNamed = 16;
  void add(LpId lp) {
    if (lps_.size() < 4096 && std::find(lps_.begin(), lps_.end(), lp) == lps_.end())
      lps_.push_back(lp);
  }
  std::uint32_t from_;
  std::vector<LpId> lps_;
};

}  // namespace orrery
