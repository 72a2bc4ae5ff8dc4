// SPDX-License-Identifier: Apache-2.0
//
// The options of this engine, and the settings that it derives from the options of a run.
#pragma once

#include <cstdint>

#include "checkpoint/copier.h"
#include "checkpoint/offload.h"
#include "checkpoint/strategy.h"
#include "run/options/options.h"

namespace orrery::timewarp {

extern const Option<std::int64_t> kWindow;     ///< ticks; 0: automatic
extern const Option<std::int64_t> kGvtPeriod;  ///< microseconds; 0: automatic
extern const Option<bool> kCacheAware;         ///< separate cache sets for models and checkpoints
extern const Option<double> kCacheShare;       ///< of model memory; negative: automatic
extern const Option<std::string> kOversize;    ///< reliable, deny
extern const Option<bool> kBalance;            ///< move LPs between workers (balance.h)
extern const Option<std::string> kPreempt;     ///< auto, off, demand, tick, both
extern const Option<std::int64_t> kTick;       ///< microseconds
/// For tests: a handler is interrupted each time that it calls the platform.
extern const Option<bool> kPreemptAlways;
extern const Option<std::uint64_t> kChannelMessages;  ///< for tests: small channels fill up
/// For tests: come to a cut (cut.h) each time that this many more events are committed; 0: never.
extern const Option<std::uint64_t> kPauseEvery;
extern const Option<bool> kPauseEnds;  ///< for tests: the run ends at its first cut
/// For tests: move LPs each time that this many more events are committed, without need; 0: never.
extern const Option<std::uint64_t> kMoveEvery;

struct Settings {
  /// Throws UsageError for values that are not possible.
  static Settings of(const RunOptions& options);

  checkpoint::Strategy strategy;
  checkpoint::Offload offload;
  const checkpoint::CopierBackend* copier = nullptr;
  std::int64_t window_ticks = 0;       ///< optimism window; 0: automatic
  std::uint64_t gvt_period_us = 0;     ///< 0: automatic
  std::uint32_t channel_messages = 0;  ///< that fit between two workers before some must wait
  std::uint64_t pause_every = 0;       ///< events committed from cut to cut; 0: no cuts
  bool pause_ends = false;             ///< the run ends at its first cut
  bool balance = true;                 ///< move LPs between workers
  std::uint64_t move_every = 0;        ///< events committed from move to move, without need
  bool cache_aware = true;
  double cache_share = -1;  ///< of the sets for model memory and events; < 0: automatic
  /// Whether handlers are interrupted when an earlier event arrives, and after how many seconds
  /// they are interrupted anyway (0: never).
  bool preempt_on_demand = false;
  double preempt_tick_seconds = 0;
  bool preempt_always = false;
  bool preempt_asked = false;  ///< --preempt names a way, other than auto and off
  bool preempts() const { return preempt_on_demand || preempt_tick_seconds > 0 || preempt_always; }
  bool deny_oversize = false;  ///< refuse requests of LPs for more than a block (64 KiB)
};

/// All options that the engine accepts.
OptionList options();

}  // namespace orrery::timewarp
