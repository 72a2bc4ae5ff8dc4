// SPDX-License-Identifier: Apache-2.0
//
// The facts that the workers of a rank contribute to the report at the end of a run. All ranks get
// those of all ranks. A run in one process has one of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "run/containment/faults.h"
#include "transport/ranks/rank_transport.h"

namespace orrery {

struct RankEndFacts {
  std::uint64_t executed = 0, committed = 0;
  Time trail_instant;  ///< of a livelock
  std::vector<LpId> trail;
  struct Fault {
    LpId lp = 0;
    std::string sentence, frames;
  };
  /// Set if the run ends with a fault of this rank.
  std::optional<Fault> fault;

  void set_trail(const LivelockTrail& from) {
    trail_instant = from.instant();
    trail = from.lps();
  }
  /// `one` may be null.
  void note(const HandlerFault* one);
};

/// `Counters`: the engine's counters, plain values.
template <class Counters>
struct RankEnd : RankEndFacts {
  static_assert(std::is_trivially_copyable_v<Counters>);
  Counters counters;
};

/// The sentence of the fault at `key` that ends the run, from the facts of all ranks.
template <class Counters>
std::string describe_fault(const std::vector<RankEnd<Counters>>& ends, const Key& key,
                           std::uint32_t livelock_limit);

/// The ends of all ranks, by rank. `ranks` null: there is one.
template <class Counters>
std::vector<RankEnd<Counters>> share_ends(transport::RankTransport* ranks, RankEnd<Counters> own);

// ---- As messages

struct RankEndMessage {
  RankEndFacts facts;
  std::vector<std::byte> counters;
};
std::vector<RankEndMessage> share_end_messages(transport::RankTransport& ranks,
                                               const RankEndMessage& own);
void add_end(const RankEndFacts& end, std::uint32_t livelock_limit, FaultReport& report);

template <class Counters>
std::string describe_fault(const Model& model, const std::vector<RankEnd<Counters>>& ends,
                           const Key& key, std::uint32_t livelock_limit) {
  FaultReport report(key, livelock_limit);
  for (const RankEndFacts& end : ends) add_end(end, livelock_limit, report);
  return report.text(model);
}

template <class Counters>
std::vector<RankEnd<Counters>> share_ends(transport::RankTransport* ranks, RankEnd<Counters> own) {
  if (ranks == nullptr) return {std::move(own)};
  RankEndMessage message{own, std::vector<std::byte>(sizeof own.counters)};
  std::memcpy(message.counters.data(), &own.counters, sizeof own.counters);
  std::vector<RankEnd<Counters>> all;
  for (RankEndMessage& one : share_end_messages(*ranks, message)) {
    RankEnd<Counters>& end = all.emplace_back();
    static_cast<RankEndFacts&>(end) = std::move(one.facts);
    std::memcpy(static_cast<void*>(&end.counters), one.counters.data(), sizeof end.counters);
  }
  return all;
}

}  // namespace orrery
