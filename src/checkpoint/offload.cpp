// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/offload.h"

#include <algorithm>

#include "orrery/error.h"

namespace orrery::checkpoint {

Offload Offload::parse(const RunOptions& options) {
  Offload offload;
  if (options.offload == "mono") {
    offload.mode = Mode::mono;
  } else if (options.offload == "multi") {
    offload.mode = Mode::multi;
  } else if (options.offload != "none") {
    throw UsageError("--offload is none, mono or multi, not '" + options.offload + "'");
  }
  if (offload.on() && options.copiers == 0) {
    throw UsageError("--offload " + options.offload +
                     " needs a copier; give --copiers 1 or more, or --offload none");
  }
  if (offload.on() && options.checkpoint == "incremental") {
    throw UsageError("--offload " + options.offload +
                     " copies whole images, and --checkpoint incremental makes none; choose auto, "
                     "copy, periodic:N or adaptive");
  }
  if (options.abort_threshold > 1) {
    throw UsageError("the abort threshold is a share from 0 to 1, not " +
                     std::to_string(options.abort_threshold));
  }
  offload.copiers = options.copiers;
  offload.burst_bytes = options.burst_bytes;
  offload.threshold_automatic = options.abort_threshold < 0;
  offload.threshold = options.abort_threshold;
  offload.longest_distance = options.max_checkpoint_distance;
  return offload;
}

void ThresholdSearch::observe(std::uint64_t executed, std::uint64_t cycles) {
  if (cycles_ == 0) {  // the first call says where counting starts
    executed_ = executed;
    cycles_ = cycles;
  }
  if (!automatic_ || executed - executed_ < kPeriodEvents) return;
  const double rate = static_cast<double>(executed - executed_) /
                      static_cast<double>(std::max<std::uint64_t>(cycles - cycles_, 1));
  executed_ = executed;
  cycles_ = cycles;
  if (trying_ == best_) {
    best_rate_ = best_rate_ == 0 ? rate : 0.5 * (best_rate_ + rate);
  } else if (rate > kGain * best_rate_) {
    best_ = trying_;
    best_rate_ = rate;
    return;  // once more, to be sure, then on in this direction
  } else {
    direction_ = -direction_;
    trying_ = best_;
    return;
  }
  const int next = static_cast<int>(best_) + direction_;
  if (next < 0 || next > static_cast<int>(kSteps)) {
    direction_ = -direction_;
  } else {
    trying_ = static_cast<unsigned>(next);
  }
}

}  // namespace orrery::checkpoint
