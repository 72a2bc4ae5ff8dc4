// SPDX-License-Identifier: Apache-2.0
//
// Moving LPs between workers at a cut (cut.h), where an LP consists of its memory, its kernel state
// and its pending events only. worker_thread.h goes through these steps, each of which all threads end
// together (Team::end_step):
//   1. each worker notes the load that it had;
//   2. one thread chooses new owners and enters them in the table of owners;
//   3. each worker hands out the LPs that leave it, and their pending events;
//   4. each worker takes the LPs and events that come to it. A worker that is done goes on: a
//      message that reaches a worker too early waits in its ring, and no worker reads the lists
//      here again before step 1 of the next move has ended.
// Only what moves is touched, but for one pass over each worker's pending events, which a cut makes
// anyway. An LP keeps its memory and takes more from its new worker's arena; its state stays where
// it is in the table. A pending event at a cut is never cancelled, since its cause is committed: so
// it does not matter that its Route still is that of its old worker.
//
// The load of an LP is the cycles of the events that it executed, measured for a short while only
// (balance.h). The loads of a worker's LPs are scaled to the load of that worker, which counts
// committed work.
//
// Each rank does this by itself, for its own LPs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/timewarp/balance.h"
#include "engine/timewarp/event.h"
#include "orrery/model.h"
#include "run/execution/lp_executions.h"
#include "run/options/options.h"
#include "run/world/world.h"

namespace orrery::timewarp {

class Moving {
 public:
  struct Lp {
    LpId id;
    std::uint16_t from, to;
  };

  Moving(const LpExecutions& executions, LpId lps, unsigned workers,
         const Disturbances& disturbances);

  // ---- Measuring. Only an LP's owner writes the LP's entry.

  void measure(LpId id, std::uint64_t cycles) {
    const std::uint64_t sum = cycles_[id] + cycles / kUnit;
    cycles_[id] = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(sum, std::numeric_limits<std::uint32_t>::max()));
  }

  // ---- Moving, in the steps above

  void note_load(unsigned worker, double load) { worker_loads_[worker] = load; }
  /// Chooses the LPs that move, and their new workers. `owners`: their present workers, by LP.
  void decide(const Model& model, const std::vector<std::uint16_t>& owners, Balance::Plan plan);
  const std::vector<Lp>& lps() const { return moves_; }
  /// Pending events of LPs that have left a worker.
  std::vector<TwEvent*>& handed_out(unsigned worker) { return handed_out_[worker]; }

 private:
  static constexpr std::uint64_t kUnit = 16;    ///< cycles: 2^32 units are about half a minute
  static constexpr double kWorthMoving = 1.07;  ///< busiest worker's load before over after

  void even_out(const Model& model, const std::vector<std::uint16_t>& owners);
  void go_back();
  void disturb(const std::vector<std::uint16_t>& owners);
  std::vector<float> lp_loads(const std::vector<std::uint16_t>& owners) const;
  double most_load(const std::vector<std::uint16_t>& owners, const std::vector<float>& loads) const;
  void move_to(const std::vector<std::uint16_t>& from, const std::vector<std::uint16_t>& to);

  const LpExecutions& executions_;
  const unsigned workers_;
  const Disturbances& disturbances_;
  std::vector<std::uint32_t> cycles_;  ///< in units, since the last move, by LP
  std::vector<double> worker_loads_;
  std::vector<Lp> moves_;  ///< the last ones
  std::vector<std::vector<TwEvent*>> handed_out_;
  std::uint64_t disturbed_ = 0;
};

}  // namespace orrery::timewarp
