// SPDX-License-Identifier: Apache-2.0
//
// All runs of a scenario, fewest deviations first.
#include "explore/explorer.h"

#include "explore/execution.h"

namespace orrery::explore {

std::string name_of(Operation::Kind kind) {
  switch (kind) {
    case Operation::Kind::load:
      return "load";
    case Operation::Kind::store:
      return "store";
    case Operation::Kind::fetch_add:
      return "fetch_add";
    case Operation::Kind::fetch_or:
      return "fetch_or";
    case Operation::Kind::fetch_and:
      return "fetch_and";
    case Operation::Kind::compare_exchange:
      return "compare_exchange";
  }
  return "";
}

std::string name_of(std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed:
      return "relaxed";
    case std::memory_order_acquire:
      return "acquire";
    case std::memory_order_release:
      return "release";
    case std::memory_order_acq_rel:
      return "acq_rel";
    default:
      return "seq_cst";
  }
}

std::string Scenario::atomic_name(unsigned number) const {
  return "atomic " + std::to_string(number);
}

std::string Failure::text() const {
  std::string list;
  for (const unsigned choice : choices) list += (list.empty() ? "" : ", ") + std::to_string(choice);
  return what + "\n  choices to replay: {" + list + "}\n" + trace;
}

Outcome explore(const Options& options, const MakeScenario& make) {
  Outcome outcome;
  Execution execution(options, make);
  for (unsigned bound = 0; bound <= options.deviations; ++bound) {
    Path path;
    bool cut = false;
    do {
      if (outcome.schedules == options.most_schedules) return outcome;
      path.rewind();
      ++outcome.schedules;
      execution.run(path, bound, cut);
      if (!execution.failed()) continue;
      const std::vector<unsigned> choices = path.choices();
      path.set(choices);
      execution.keep_trace();
      execution.run(path, bound, cut);
      outcome.failure = Failure{execution.what(), choices, execution.trace()};
      return outcome;
    } while (path.advance());
    outcome.deviations = bound;
    outcome.within_bound = true;
    outcome.exhaustive = !cut;
    if (!cut) break;
  }
  return outcome;
}

Outcome replay(const Options& options, const MakeScenario& make,
               const std::vector<unsigned>& choices) {
  Outcome outcome;
  Execution execution(options, make);
  Path path;
  bool cut = false;
  path.set(choices);
  execution.keep_trace();
  execution.run(path, options.deviations, cut);
  outcome.schedules = 1;
  if (execution.failed()) outcome.failure = Failure{execution.what(), choices, execution.trace()};
  return outcome;
}

void require(bool holds, const std::string& what) {
  if (!holds) Execution::active().fail(what);
}

void wait_for_change() {
  Execution::active().wait_for_change();
}

}  // namespace orrery::explore
