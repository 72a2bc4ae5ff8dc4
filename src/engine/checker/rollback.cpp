// SPDX-License-Identifier: Apache-2.0
#include "engine/checker/rollback.h"

#include <charconv>
#include <string>

#include "orrery/error.h"

namespace orrery::checker {
namespace {

// Rollbacks over several events keep as many executions; more than these find nothing new.
constexpr unsigned kFewestEvents = 2, kMostEvents = 8, kMostWanted = 64;
constexpr std::string_view kPeriodic = "periodic:";

unsigned events_of(std::string_view text) {
  unsigned events = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, events);
  return error == std::errc{} && stop == end ? events : 0;
}

}  // namespace

RollbackPlan make_rollbacks(std::string_view checkpoint) {
  RollbackPlan plan;
  plan.ways.push_back(std::make_unique<CopyRollback>());
  if (checkpoint == "copy") return plan;
  if (checkpoint == "auto") {
    plan.fewest_events = kFewestEvents;
    plan.most_events = kMostEvents;
    return plan;
  }
  const unsigned events =
      checkpoint.starts_with(kPeriodic) ? events_of(checkpoint.substr(kPeriodic.size())) : 0;
  if (events < 1 || events > kMostWanted) {
    throw UsageError("the checker does not know the checkpoint strategy '" +
                     std::string(checkpoint) +
                     "'; it checks auto (all in turn), copy, and "
                     "periodic:N with N from 1 to " +
                     std::to_string(kMostWanted));
  }
  plan.fewest_events = plan.most_events = events;
  return plan;
}

}  // namespace orrery::checker
