// SPDX-License-Identifier: Apache-2.0
#include "engine/timewarp/cache_layout.h"

#include "engine/timewarp/settings.h"
#include "memory/cache_tuning.h"

namespace orrery::timewarp {

memory::Colouring choose_colouring(const RunOptions& options, unsigned workers,
                                   std::vector<std::string>& notes) {
  using memory::CacheTuning;
  const double share = options.get(kCacheShare);  // negative: automatic
  if ((!options.get(kCacheAware) && share < 0) || workers == 1) return {};
  const memory::CacheFacts cache = memory::second_level_cache();
  if (!cache.note.empty()) notes.push_back(cache.note);
  memory::Colouring colouring =
      memory::Colouring::of(cache, share < 0 ? CacheTuning::kAutomaticShare : share);
  if (share < 0) colouring.mild_from = CacheTuning::threshold(CacheTuning::kStart, cache.way_bytes);
  colouring.workers = workers;
  // With very many workers, a huge page for each would waste memory.
  constexpr unsigned kMostWithHugePages = 64;
  colouring.huge_pages = workers <= kMostWithHugePages;
  return colouring;
}

}  // namespace orrery::timewarp
