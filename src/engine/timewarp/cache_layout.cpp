// SPDX-License-Identifier: Apache-2.0
#include "engine/timewarp/cache_layout.h"

namespace orrery::timewarp {

CacheLayout CacheLayout::choose(const Settings& settings, unsigned workers,
                                std::vector<std::string>& notes) {
  CacheLayout layout;
  if (!settings.cache_aware || workers == 1) return layout;
  const memory::CacheFacts cache = memory::second_level_cache();
  if (!cache.note.empty()) notes.push_back(cache.note);
  layout.automatic = settings.cache_share < 0;
  layout.colouring = memory::Colouring::of(
      cache, layout.automatic ? CacheTuning::kAutomaticShare : settings.cache_share);
  if (layout.automatic)
    layout.colouring.mild_from = CacheTuning::threshold(CacheTuning::kStart, cache.way_bytes);
  layout.colouring.workers = workers;
  // With very many workers, a huge page for each would waste memory.
  constexpr unsigned kMostWithHugePages = 64;
  layout.colouring.huge_pages = workers <= kMostWithHugePages;
  return layout;
}

std::optional<std::size_t> CacheTuning::observe(std::uint64_t committed) {
  const std::uint64_t now = read_cycles();
  if (since_cycles_ == 0) since_cycles_ = now;
  ++rounds_;
  const std::uint64_t elapsed = now - since_cycles_;
  if (settling_) {
    if (static_cast<double>(elapsed) < kSettling * static_cast<double>(period_cycles_)) return {};
    settling_ = false;
    rounds_ = 0;
    since_cycles_ = now;
    since_committed_ = committed;
    return {};
  }
  if (elapsed < period_cycles_ || rounds_ < kLeastRounds) return {};
  const std::size_t next =
      tuner_.next(static_cast<double>(committed - since_committed_) / static_cast<double>(elapsed));
  settling_ = next != setting_;
  rounds_ = 0;
  since_cycles_ = now;
  since_committed_ = committed;
  if (!settling_) return {};
  setting_ = next;
  return threshold(setting_, way_bytes_);
}

}  // namespace orrery::timewarp
