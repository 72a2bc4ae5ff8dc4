// SPDX-License-Identifier: Apache-2.0
//
// A survey of a model's sends: for each kind of edge the smallest delay seen, beside what is
// declared (promises.h). That is how authors find their lookahead: by measuring. It says what was
// so in one run, not what must be so in all.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <typeindex>
#include <vector>

#include "core/event_header.h"
#include "orrery/logical_process.h"
#include "orrery/model.h"
#include "run/edge_kind.h"
#include "run/promises.h"

namespace orrery {

class EdgeSurvey {
 public:
  /// `lp`: an LP of the class that the LP of this number has, for as long as sends are noted.
  EdgeSurvey(const Model& model, const Promises& promises,
             std::function<const LogicalProcessBase&(LpId)> lp)
      : model_(model), promises_(promises), lp_(std::move(lp)) {}

  /// An event that the one with this key has sent. False if that breaks a promise.
  bool note(const Key& cause, const EventHeader& sent);

  /// By names; LPs to themselves last.
  std::vector<EdgeKind> kinds() const;
  /// One sentence: what was kept, or what the model could promise.
  std::string conclusion() const;
  std::uint64_t broken() const { return broken_; }

 private:
  using Kind = std::tuple<std::type_index, EventTypeId, std::type_index, bool>;

  EdgeKind& kind_of(const EventHeader& sent);

  const Model& model_;
  const Promises& promises_;
  const std::function<const LogicalProcessBase&(LpId)> lp_;
  std::map<Kind, EdgeKind> kinds_;
  std::optional<Duration> smallest_;  ///< to another LP
  std::uint64_t to_others_ = 0, broken_ = 0;
};

}  // namespace orrery
