// SPDX-License-Identifier: Apache-2.0
//
// The pending event sets by name, for the run-time choice (`--pending`), and how they compare.
//
// Nanoseconds of processor time a hold (pop the lowest, move it into the future, push it), by
// bench/pending_bench.cpp: medians of alternating rounds on a virtual machine with an AMD Zen 5
// (1 MiB of second-level cache a core) that had other work at the time, gcc 12 -O3. The loop
// without a set takes 2 to 5. The lowest rounds were 5 to 25 % below the medians.
//
//   increments     events    radix   ladder     heap
//   exponential         4       13       15       14
//                      64       18       21       25
//                    8192       18       20       60
//                 100,000       32       42      206
//               1,000,000      103      107      830
//   bimodal          8192       14       19       63
//   Pareto           8192       15       18       55
//   2^0 to 2^40      8192       15       17       62
//   constant         8192       17       16       50
//   crowded ties     8192       22       26       73
//   1 in 16 back     8192       21       24       74
//   bytes an event   8192       25       25       21
//               1,000,000       19       19       23
//
// What grows from 100,000 events on is the share of cache misses. `radix` is the default: it is the
// fastest or within a nanosecond of it in all these rows, has the lower bound on how often an event
// is moved, and what it does depends on the bits of the times alone. `heap` has a bound for each
// single operation rather than for their sum, and no minimum size: it is the choice for very many
// tiny sets, and where the longest pause matters more than the sum.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model_registry.h"
#include "orrery/error.h"
#include "pending/dary_heap.h"
#include "pending/ladder_queue.h"
#include "pending/pending_set.h"
#include "pending/radix_heap.h"

namespace orrery::pending {

struct PendingSetKind {
  std::string_view name;
  std::string_view description;
};

inline constexpr std::array<PendingSetKind, 3> kPendingSets{{
    {"radix", "radix heap with adaptive digits: the fastest for most sizes and distributions"},
    {"ladder", "ladder queue: the reference in the literature, nearly as fast"},
    {"heap", "4-ary heap: O(log n) for each single operation, smallest for a handful of events"},
}};

/// What `auto` stands for.
inline constexpr std::string_view kDefaultPendingSet = kPendingSets[0].name;

/// Throws UsageError with the names that there are and those that look alike.
[[noreturn]] inline void refuse_pending_set(std::string_view name) {
  std::vector<std::string> names{"auto"};
  for (const PendingSetKind& kind : kPendingSets) names.emplace_back(kind.name);
  std::string text = "there is no pending event set '" + std::string(name) + "'" +
                     near_matches(name, names) + " (pending event sets: ";
  for (const std::string& known : names) text += (&known == &names[0] ? "" : ", ") + known;
  throw UsageError(text + ")");
}

/// Calls `f.template operator()<Set>()` for the kind of pending event set called `name` ("auto" is
/// the default one) and returns what it returns. Throws UsageError for other names.
template <class Event, class F>
auto with_pending_set(std::string_view name, F&& f) {
  if (name == "auto") name = kDefaultPendingSet;
  if (name == "radix") return f.template operator()<RadixHeap<Event>>();
  if (name == "ladder") return f.template operator()<LadderQueue<Event>>();
  if (name == "heap") return f.template operator()<DaryHeap<Event>>();
  refuse_pending_set(name);
}

}  // namespace orrery::pending
