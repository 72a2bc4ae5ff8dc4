// SPDX-License-Identifier: Apache-2.0
#include "engine/timewarp/cache_layout.h"

#include "memory/cache_tuning.h"

namespace orrery::timewarp {

CacheLayout CacheLayout::choose(const Settings& settings, unsigned workers,
                                std::vector<std::string>& notes) {
  CacheLayout layout;
  if (!settings.cache_aware || workers == 1) return layout;
  const memory::CacheFacts cache = memory::second_level_cache();
  if (!cache.note.empty()) notes.push_back(cache.note);
  layout.automatic = settings.cache_share < 0;
  layout.colouring = memory::Colouring::of(
      cache, layout.automatic ? memory::CacheTuning::kAutomaticShare : settings.cache_share);
  if (layout.automatic)
    layout.colouring.mild_from =
        memory::CacheTuning::threshold(memory::CacheTuning::kStart, cache.way_bytes);
  layout.colouring.workers = workers;
  // With very many workers, a huge page for each would waste memory.
  constexpr unsigned kMostWithHugePages = 64;
  layout.colouring.huge_pages = workers <= kMostWithHugePages;
  return layout;
}

}  // namespace orrery::timewarp
