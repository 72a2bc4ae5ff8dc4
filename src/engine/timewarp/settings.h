// SPDX-License-Identifier: Apache-2.0
//
// The options of this engine, and the settings that it derives from the options of a run.
#pragma once

#include <cstddef>
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
extern const Option<std::string> kOversize;    ///< reliable; deny: refuse more than 64 KiB
extern const Option<bool> kBalance;            ///< move LPs between workers (balance.h)
extern const Option<std::string> kPreempt;     ///< auto, off, demand, tick, both
extern const Option<std::int64_t> kTick;       ///< microseconds

struct Settings {
  /// Throws UsageError for values that are not possible.
  static Settings of(const RunOptions& options);

  checkpoint::Strategy strategy;
  checkpoint::Offload offload;
  std::size_t channel_messages = 4096;  ///< that fit between two workers before some must wait
  /// Whether handlers are interrupted when an earlier event arrives, and after how many seconds
  /// they are interrupted anyway (0: never).
  bool preempt_on_demand = false;
  double preempt_tick_seconds = 0;
  /// Instead, at each call of the platform.
  bool preempt_at_calls = false;
  bool preempt_asked = false;  ///< --preempt names a way, other than auto and off
  bool preempts() const {
    return preempt_on_demand || preempt_tick_seconds > 0 || preempt_at_calls;
  }
};

/// All options that the engine accepts.
OptionList options();

}  // namespace orrery::timewarp
