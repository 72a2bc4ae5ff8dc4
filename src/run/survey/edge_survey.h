// SPDX-License-Identifier: Apache-2.0
//
// A survey of a model's sends: for each kind of edge the smallest delay seen, beside the declared
// one (promises.h). Authors use it to find the lookahead of their models. It describes one run and
// proves nothing about others.
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
#include "run/execution/promises.h"

namespace orrery {

class EdgeSurvey {
 public:
  /// `lp`: returns the LP of that number, or another of its class, while sends are noted.
  EdgeSurvey(const Model& model, const Promises& promises,
             std::function<const LogicalProcessBase&(LpId)> lp)
      : model_(model), promises_(promises), lp_(std::move(lp)) {}

  /// Notes an event sent by the event with key `cause`. False if the send breaks a promise.
  bool note(const Key& cause, const EventHeader& sent);

  /// Sorted by names; sends of LPs to themselves last.
  std::vector<EdgeKind> kinds() const;
  /// One sentence: the promise that was kept, or that the model could make.
  std::string conclusion() const;
  std::uint64_t broken() const { return broken_; }

 private:
  using Kind = std::tuple<std::type_index, EventTypeId, std::type_index, bool>;

  EdgeKind& kind_of(const EventHeader& sent);

  const Model& model_;
  const Promises& promises_;
  const std::function<const LogicalProcessBase&(LpId)> lp_;
  std::map<Kind, EdgeKind> kinds_;
  std::optional<Duration> smallest_;  ///< delay to another LP
  std::uint64_t to_others_ = 0, broken_ = 0;
};

}  // namespace orrery
