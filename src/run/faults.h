// SPDX-License-Identifier: Apache-2.0
//
// Model faults: the sentences that name them, equal on all engines, and who took part in a
// livelock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/key.h"
#include "orrery/logical_process.h"
#include "orrery/model.h"

namespace orrery {

/// "LP 5, event Arrival at 12.5 s" for messages. `event_name` empty: the start of the run.
std::string describe_event(const Model& model, LpId lp, std::string_view event_name, Time time);

/// The sentence for the exception being handled (call from a catch block).
std::string describe_current_exception(const Model& model, LpId lp, std::string_view event_name,
                                       Time time);

/// "of an unknown type" where the LP has no handler.
std::string_view name_of_event(const LogicalProcessBase& lp, EventTypeId type);

/// Simulation time in the model's seconds, "12.5 s".
std::string time_text(const Model& model, Time time);

/// Who took part in a livelock: when an event's microstep comes near the limit, engines note its
/// LP, and the fault names those that were on it. Costs one comparison an event.
class LivelockTrail {
 public:
  struct Step {
    Key key;
    LpId lp;
  };

  explicit LivelockTrail(std::uint32_t limit) : from_(limit > kSteps ? limit - kSteps : 1) {}

  void note(const Key& key, LpId lp) {
    if (key.microstep() >= from_) [[unlikely]]
      add({key, lp});
  }
  const std::vector<Step>& steps() const { return steps_; }

  /// "; LPs on it: 3, 5, 8 and others" for a livelock that was found at `fault`; "" for another
  /// fault. Steps at other times or after the fault belong to guesses that did not commit.
  static std::string text(const std::vector<Step>& steps, const Key& fault, std::uint32_t limit) {
    if (fault.microstep() < limit) return "";
    std::vector<LpId> lps;
    for (const Step& step : steps)
      if (step.key.time() == fault.time() && step.key <= fault) lps.push_back(step.lp);
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
  static constexpr std::size_t kMostSteps = 16384;

  void add(const Step& step) {
    // What lies far back is of an earlier instant or a guess.
    if (steps_.size() == kMostSteps) steps_.erase(steps_.begin(), steps_.begin() + kMostSteps / 2);
    steps_.push_back(step);
  }

  std::uint32_t from_;
  std::vector<Step> steps_;
};

}  // namespace orrery
