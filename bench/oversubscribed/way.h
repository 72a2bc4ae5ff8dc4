// SPDX-License-Identifier: Apache-2.0
//
// What is compared: what a rank does that has nothing to do, and whether it gives way.
//   spin    it looks again and again, as the loops of simulators over MPI do
//   yield   it calls sched_yield() before it looks again
//   block   it sleeps on a futex until a message or a promise comes; who runs is the system's
//   choice llf     it waits in orrery/llf.h, and gives way at safe points to who is earlier
// In a round of GVT it waits in the same way for those who have not joined yet.
#pragma once

#include <cstdint>
#include <memory>

#include "shared.h"

namespace oversubscribed {

class Way {
 public:
  /// What a round of GVT has found. As long as messages are in transit `gvt` means nothing.
  struct Agreed {
    Ticks gvt;
    std::int64_t in_transit;
  };
  static constexpr std::int64_t kForEver = -1;

  /// For the process that is the rank; returns when all ranks are there.
  static std::unique_ptr<Way> make(const Shared& shared, unsigned rank);
  /// Removes what ranks that were killed have left in the system.
  static void clean(int parent);

  Way() = default;
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;
  virtual ~Way() = default;

  /// To be called before messages and promises are looked for.
  virtual void before_looking() = 0;
  /// A message of that time is in the ring to `peer`, or a promise on our board.
  virtual void announce(unsigned peer, Ticks time) = 0;
  /// Between events; the rank executes nothing before `lvt`.
  virtual void safe_point(Ticks lvt) = 0;
  /// Nothing was found: until there may be something, or a round of GVT, or `most_ns` are over.
  virtual void rest(std::int64_t most_ns) = 0;
  /// Somebody has begun a round of GVT, which is to be joined.
  virtual bool round_wanted() const = 0;
  /// Joins the round that has begun, or begins one.
  virtual Agreed agree(Ticks lowest, std::int64_t sent_minus_received) = 0;
};

}  // namespace oversubscribed
