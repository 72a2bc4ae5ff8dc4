// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/offload.h"

#include <algorithm>

#include "checkpoint/options.h"
#include "orrery/error.h"

namespace orrery::checkpoint {

Offload Offload::parse(const RunOptions& options) {
  Offload offload;
  const std::string mode = options.get(kOffload);
  if (mode == "mono") offload.mode = Mode::mono;
  if (mode == "multi") offload.mode = Mode::multi;
  if (offload.on() && options.get(kCopiers) == 0) {
    throw UsageError("--offload " + mode +
                     " needs a copier; give --copiers 1 or more, or --offload none");
  }
  if (offload.on() && options.get(kCheckpoint) == "incremental") {
    throw UsageError("--offload " + mode +
                     " copies whole images, and --checkpoint incremental makes none; choose auto, "
                     "copy, periodic:N or adaptive");
  }
  offload.threshold = options.get(kAbortThreshold);
  offload.threshold_automatic = offload.threshold < 0;
  offload.copiers = static_cast<unsigned>(options.get(kCopiers));
  offload.burst_bytes = options.get(kBurst);
  offload.longest_distance = static_cast<std::uint32_t>(options.get(kMaxDistance));
  return offload;
}

void ThresholdSearch::note(std::uint64_t executed, std::uint64_t cycles) {
  if (cycles_ == 0) {  // the first call sets the origin
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
    return;  // measure once more to be sure, then go on in this direction
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
