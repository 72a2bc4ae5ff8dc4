// SPDX-License-Identifier: Apache-2.0
#include "live/lp_map.h"

#include <algorithm>

#include "transport/ranks/bytes.h"

namespace orrery::live {
namespace {

/// Adds the sends at other ranks, since a rank has only the counts of its own LPs.
void add_other_ranks(transport::RankTransport& ranks, LpMap& map) {
  transport::ByteWriter own;
  own.put(map.sent);
  std::fill(map.sent.begin(), map.sent.end(), 0);
  for (const transport::Parcel& parcel : ranks.gather_everywhere(own.take())) {
    const auto sent = transport::ByteReader(parcel).get_list<std::uint64_t>();
    for (std::size_t cell = 0; cell < map.sent.size(); ++cell) map.sent[cell] += sent.at(cell);
  }
}

}  // namespace

LpMap LpMapper::map(World& world, unsigned workers, transport::RankTransport* ranks) {
  LpMap map;
  map.lps = world.lp_count();
  map.lps_a_cell = static_cast<LpId>((map.lps + LpMap::kMostCells - 1) / LpMap::kMostCells);
  const std::size_t cells = (map.lps + map.lps_a_cell - 1) / map.lps_a_cell;
  map.sent.resize(cells);
  map.owner.resize(cells);
  map.by_rank = ranks != nullptr;
  map.owners = map.by_rank ? ranks->ranks() : workers;
  sent_before_.resize(map.lps);
  LpId id = 0;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    const LpId end = std::min(map.lps, map.first_of(cell) + map.lps_a_cell);
    for (bool first = true; id < end; ++id, first = false) {
      const unsigned owner =
          map.by_rank ? world.rank_of(id) : world.worker_of(world.part_of(id), workers);
      if (first) map.owner[cell] = static_cast<std::uint16_t>(owner);
      if (map.owner[cell] != owner) map.owner[cell] = LpMap::kSeveral;
      if (!world.is_here(id)) continue;
      const auto sends = static_cast<std::uint32_t>(world.lp(id).kernel.sends);
      map.sent[cell] += static_cast<std::uint32_t>(sends - sent_before_[id]);
      sent_before_[id] = sends;
    }
  }
  if (ranks != nullptr) add_other_ranks(*ranks, map);
  return map;
}

}  // namespace orrery::live
