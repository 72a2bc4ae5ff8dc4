// SPDX-License-Identifier: Apache-2.0
#include "director/helpers.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace orrery::director {

std::vector<Conduct> judge(const std::vector<Nanoseconds>& consumed, Nanoseconds cycle,
                           unsigned cores) {
  constexpr Nanoseconds kQuietPart = 50, kGreedyPart = 2;
  std::vector<std::size_t> order(consumed.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return consumed[a] < consumed[b]; });
  std::vector<Conduct> conducts(consumed.size(), Conduct::quiet);
  const Nanoseconds all = cycle * cores;
  Nanoseconds sum = 0;
  for (const std::size_t i : order) {
    sum += consumed[i];
    if (sum > all / kGreedyPart || consumed[i] > cycle / kGreedyPart)
      conducts[i] = Conduct::greedy;
    else if (sum > all / kQuietPart)
      conducts[i] = Conduct::busy;
  }
  return conducts;
}

void look_at_helpers(std::vector<Helper>& helpers, Nanoseconds cycle, unsigned cores) {
  std::vector<Nanoseconds> consumed;
  std::erase_if(helpers, [&](Helper& helper) {
    const std::optional<Nanoseconds> now = helper.thread.consumed();
    if (!now) {
      if (helper.entry != nullptr) Roll::remove(*helper.entry);
      return true;
    }
    consumed.push_back(*now - helper.consumed);
    helper.consumed = *now;
    return false;
  });
  const std::vector<Conduct> conducts = judge(consumed, cycle, cores);
  for (std::size_t i = 0; i < helpers.size(); ++i) {
    helpers[i].conduct = conducts[i];
    if (conducts[i] == Conduct::greedy)
      helpers[i].punished = kCyclesOfPunishment;
    else if (helpers[i].punished > 0)
      --helpers[i].punished;
  }
}

}  // namespace orrery::director
