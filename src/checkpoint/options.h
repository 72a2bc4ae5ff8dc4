// SPDX-License-Identifier: Apache-2.0
//
// The options of checkpoints and of offloaded copies, for all engines that roll back.
#pragma once

#include <memory>

#include "run/options/options.h"

namespace orrery::checkpoint {

class PageTracker;

extern const Option<std::string> kCheckpoint;     ///< see strategy.h
extern const Option<std::string> kOffload;        ///< none, mono, multi: see offload.h
extern const Option<std::uint64_t> kCopiers;      ///< threads that copy
extern const Option<std::string> kCopier;         ///< the back-end that copies, see copier.h
extern const Option<std::uint64_t> kBurst;        ///< bytes that a copier takes at a time
extern const Option<double> kAbortThreshold;      ///< share of a copy; negative: automatic
extern const Option<std::uint64_t> kMaxDistance;  ///< events after which a copy is forced through

/// For tests: ranges that may be tracked (page_tracker.h); negative: as many as the system allows.
extern const Option<std::int64_t> kTrackedRanges;

/// All options above, for engines that support them.
OptionList options();

/// Makes a tracker with the limit of kTrackedRanges.
std::shared_ptr<PageTracker> make_tracker(const RunOptions& options);

}  // namespace orrery::checkpoint
