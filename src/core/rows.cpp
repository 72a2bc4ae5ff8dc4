// SPDX-License-Identifier: Apache-2.0
#include "core/rows.h"

namespace orrery {

void PackedRow::append(const Row& row, std::vector<std::uint64_t>& words) {
  const std::uint64_t head[kHeadWords] = {static_cast<std::uint64_t>(row.key.time().ticks()),
                                          (std::uint64_t{row.key.step()} << 32) | row.key.sender(),
                                          row.key.sequence(),
                                          (std::uint64_t{row.ordinal} << 32) | row.lp,
                                          (std::uint64_t{row.table} << 32) | row.cells.size()};
  words.insert(words.end(), head, head + kHeadWords);
  words.insert(words.end(), row.cells.begin(), row.cells.end());
}

}  // namespace orrery
