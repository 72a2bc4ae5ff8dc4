// SPDX-License-Identifier: Apache-2.0
//
// What an event would cost on more cores than there are here: a part that is the same on any number
// and one that is divided among them (G. M. Amdahl, "Validity of the single processor approach to
// achieving large scale computing capabilities", AFIPS Conference Proceedings 30, 1967). It is
// fitted to what was measured on a few numbers of cores, often two, so it knows no limit that shows
// only beyond them: memory that cores share, windows that get longer with each that is waited for
// (docs/ranks.md measured a factor of two between such a forecast and 16 cores). Therefore its
// bounds are not statistical: each core as good as those here, and none of any use.
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
  double lowest = 0, highest = 0;  ///< bounds of it
};

/// For more executors than any of the points has. Nothing for fewer than two numbers of them.
std::optional<Scaled> scale_to(std::span<const ScalingPoint> points, unsigned executors);

}  // namespace orrery::advise
