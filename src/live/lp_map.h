// SPDX-License-Identifier: Apache-2.0
//
// A map of the activity in a model: the number of sends of each LP since the last look, and the
// worker or rank that executes it. LPs are in the order of their numbers, several in one cell if
// there are more LPs than a picture can show. The platform counts an LP's sends anyway
// (core/kernel_state.h); a count of executed events would cost time in every event.
#pragma once

#include <cstdint>
#include <vector>

#include "run/world/world.h"
#include "transport/ranks/rank_transport.h"

namespace orrery::live {

struct LpMap {
  static constexpr std::size_t kMostCells = 4096;
  static constexpr std::uint16_t kSeveral = 0xffff;

  LpId lps = 0;
  LpId lps_a_cell = 1;               ///< the last cell may have fewer
  std::vector<std::uint64_t> sent;   ///< by cell
  std::vector<std::uint16_t> owner;  ///< by cell: the rank or the worker; kSeveral: more than one
  unsigned owners = 1;
  bool by_rank = false;  ///< owners are ranks

  LpId first_of(std::size_t cell) const { return static_cast<LpId>(cell * lps_a_cell); }
};

class LpMapper {
 public:
  /// `world` must be complete. `workers`: the number of workers that share its parts now. `ranks`:
  /// null for one rank; else all ranks must call map(), and each gets the map of all LPs.
  LpMap map(World& world, unsigned workers, transport::RankTransport* ranks);

 private:
  /// By LP, the sends at the last look; the low 32 bits are enough for a difference.
  std::vector<std::uint32_t> sent_before_;
};

}  // namespace orrery::live
