// SPDX-License-Identifier: Apache-2.0
//
// The cost of an event on more cores than this machine has: a part that does not depend on the
// number of cores and a part that is divided among them (G. M. Amdahl, "Validity of the single
// processor approach to achieving large scale computing capabilities", AFIPS Conference Proceedings
// 30, 1967). The fit uses measurements on a few numbers of cores, often two, so it does not include
// limits that appear only beyond these: memory that cores share, windows that get longer with each
// core that others wait for (docs/ranks.md measured a factor of two between such a forecast and 16
// cores). Therefore its bounds are not statistical: more cores are as good as those here, or of no
// use.
#pragma once

#include <optional>
#include <span>

namespace orrery::advise {

struct ScalingPoint {
  unsigned executors = 1;
  double per_event = 0;  ///< seconds
};

struct Scaled {
  double per_event = 0;
  double lowest = 0, highest = 0;  ///< bounds of per_event
};

/// For more executors than any of the points has. Nothing if all points have the same number.
std::optional<Scaled> scale_to(std::span<const ScalingPoint> points, unsigned executors);

}  // namespace orrery::advise
