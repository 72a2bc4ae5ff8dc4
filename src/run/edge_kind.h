// SPDX-License-Identifier: Apache-2.0
//
// A result of a survey of a model's sends (edge_survey.h) for one kind of edge: LPs of a class that
// send events of a type to LPs of a class.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "orrery/event.h"
#include "orrery/time.h"

namespace orrery {

struct EdgeKind {
  std::string sender, event, receiver;  ///< class, type, class, without namespaces
  bool to_itself = false;               ///< sends of LPs to themselves, which may have any delay
  std::uint64_t sends = 0;
  Duration smallest_delay;

  // Of sends to other LPs, the send that was nearest to breaking a promise.
  LpId from = 0, to = 0;
  std::optional<Duration> declared;  ///< smallest delay for this pair; none: the pair has no edge
  Duration slack;                    ///< delay - declared; without an edge the delay
  std::uint64_t broken = 0;          ///< sends of this kind that break a promise
};

}  // namespace orrery
