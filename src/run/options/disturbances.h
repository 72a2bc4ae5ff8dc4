// SPDX-License-Identifier: Apache-2.0
//
// Makes rare events of a run frequent, for tests: full channels, cuts and moves of LPs without
// need, interruptions of handlers. Tests give such an object to RunOptions; all other runs have one
// that disturbs nothing. An engine asks it where the event may happen, and passes over what it does
// not have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace orrery {

class Disturbances {
 public:
  virtual ~Disturbances() = default;

  /// Messages that fit into the channel between two workers; `usual`: without disturbances.
  virtual std::size_t channel_messages(std::size_t usual) const { return usual; }
  /// Events that are committed from one cut to the next, at which the run goes on; 0: no such cuts.
  virtual std::uint64_t events_to_cut() const { return 0; }
  /// Events that are committed from one move of LPs between workers to the next; 0: no such moves.
  virtual std::uint64_t events_to_move() const { return 0; }
  /// Changes owners[lp] for the move with that number. An owner is a worker below `workers`, or
  /// World::kElsewhere, which stays.
  virtual void move(std::uint64_t /*number*/, unsigned /*workers*/,
                    std::vector<std::uint16_t>& /*owners*/) const {}
  /// LPs of a part in the conservative engine; 0: as usual.
  virtual std::uint64_t part_lps() const { return 0; }
  /// Most events that a worker executes before it meets the others.
  virtual std::uint64_t step_events() const { return std::numeric_limits<std::uint64_t>::max(); }
  /// Bytes of checkpoints between two GVT rounds from which on they are written past the caches.
  virtual std::size_t bytes_to_stream(std::size_t usual) const { return usual; }
  /// Whether the run reports how many cuts there were.
  virtual bool reports_cuts() const { return false; }
  /// Whether a handler is interrupted each time that it calls the platform.
  virtual bool interrupts_at_calls() const { return false; }
};

}  // namespace orrery
