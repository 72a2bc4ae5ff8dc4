// SPDX-License-Identifier: Apache-2.0
//
// Where in a model something happens: how much LPs have sent since the world was looked at last,
// and who executes them. LPs stand in the order of their numbers, several to a cell where there are
// more than a picture can show. An LP's number of sends is what the platform keeps of its activity
// anyway (core/kernel_state.h); to count what it handled would cost every event.
#pragma once

#include <cstdint>
#include <vector>

#include "run/world.h"
#include "transport/ranks/rank_transport.h"

namespace orrery::live {

struct LpMap {
  static constexpr std::size_t kMostCells = 4096;
  static constexpr std::uint16_t kSeveral = 0xffff;

  LpId lps = 0;
  LpId lps_a_cell = 1;               ///< the last cell may have fewer
  std::vector<std::uint64_t> sent;   ///< by cell
  std::vector<std::uint16_t> owner;  ///< by cell: the rank, or the worker; kSeveral: not one alone
  unsigned owners = 1;
  bool by_rank = false;  ///< owners are ranks

  LpId first_of(std::size_t cell) const { return static_cast<LpId>(cell * lps_a_cell); }
};

class LpMapper {
 public:
  /// Of a world that is whole. `workers`: among which its parts are dealt at the moment. `ranks`:
  /// null where there is one, else all ranks ask, and each is told of all LPs.
  LpMap map(World& world, unsigned workers, transport::RankTransport* ranks);

 private:
  /// By LP, at the last look: the low bits are enough for a difference.
  std::vector<std::uint32_t> sent_before_;
};

}  // namespace orrery::live
