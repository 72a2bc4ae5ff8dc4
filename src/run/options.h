// SPDX-License-Identifier: Apache-2.0
//
// What a run is asked for.
#pragma once

#include <cstdint>
#include <string>

#include "orrery/model.h"

namespace orrery {

struct RunOptions {
  std::uint64_t seed = 1;
  Time until = Time::max();          ///< events at or after it are not handled
  unsigned workers = 0;              ///< 0: one per core that this process may use
  std::string pending = "auto";      ///< pending event set, see src/pending/registry.h
  std::string checkpoint = "auto";   ///< strategy, see src/checkpoint/strategy.h
  std::string offload = "none";      ///< copies of checkpoints beside the worker: none, mono, multi
  std::string copier = "thread";     ///< who makes them, see src/checkpoint/copier.h
  unsigned copiers = 1;              ///< threads that do
  std::uint32_t burst_bytes = 1024;  ///< taken by a copier at a time
  double abort_threshold = -1;       ///< share of a copy, 0 to 1; negative: automatic
  std::uint32_t max_checkpoint_distance = 40;  ///< events after which a copy is forced through
  std::uint64_t memory_bytes = 0;  ///< budget of the run; 0: three quarters of what is available
  bool bind = true;                ///< bind workers to cores where there are enough
  std::uint32_t livelock_microsteps =
      1'000'000;                          ///< zero-delay steps at one instant that are too many
  std::uint32_t channel_messages = 4096;  ///< that fit between two workers before some must wait
  std::uint64_t gvt_period_us = 0;        ///< 0: automatic
  std::int64_t window_ticks = 0;          ///< optimism window; 0: automatic
  std::string expanded_mode = "auto";     ///< see src/engine/expanded/settings.h, these three
  std::string handover = "push";
  std::string barrier = "local";
  bool cache_aware = true;     ///< keep model memory and checkpoints on different cache sets
  double cache_share = -1;     ///< of the sets for model memory and events, 0 to 1; < 0: automatic
  bool deny_oversize = false;  ///< refuse requests of LPs for more than a block (64 KiB)
};

/// The most threads that a run may be asked for.
inline constexpr unsigned kMostWorkers = 1024;

/// Throws UsageError for options that no engine can honour, ModelFault for a model that none can
/// run.
void check_options(const Model& model, const RunOptions& options);

}  // namespace orrery
