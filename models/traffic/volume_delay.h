// SPDX-License-Identifier: Apache-2.0
//
// The cost of a link at a volume, for static assignment: the function of the Bureau of Public Roads
// (Traffic Assignment Manual, 1964) in the form of TNTP files,
//
//   cost(v) = t0 (1 + B (v / c)^p) + fixed
//
// in the file's unit of time, with volume v and capacity c of the same period. `fixed` is the cost
// of length and toll in generalised cost. B, power and capacity are unchanged from the file, so
// that published equilibria can be compared. The stop lines of the simulation use only the
// capacities.
#pragma once

#include "orrery/math.h"

namespace traffic {

class VolumeDelay {
 public:
  VolumeDelay() = default;
  /// B, power and times at least 0; a power between 0 and 1 has no finite slope at 0.
  VolumeDelay(double free_flow, double b, double capacity, double power, double fixed)
      : base_(free_flow + fixed),
        rise_(orrery::math::product(free_flow, b)),
        per_capacity_(1 / capacity),
        power_(power) {}

  double cost(double volume) const {
    if (rise_ == 0) return base_;
    return base_ + orrery::math::product(rise_, raised(volume * per_capacity_, power_));
  }
  /// Derivative of the cost by the volume.
  double slope(double volume) const {
    if (rise_ == 0 || power_ == 0) return 0;
    return rise_ * power_ * per_capacity_ * raised(volume * per_capacity_, power_ - 1);
  }

 private:
  /// The power is 4 in nearly all networks.
  static double raised(double x, double power) {
    if (power == 4) return (x * x) * (x * x);
    if (power == 3) return x * x * x;
    if (power == 1) return x;
    return power == 0 ? 1 : orrery::math::pow(x, power);
  }
  double base_ = 0, rise_ = 0, per_capacity_ = 0, power_ = 0;
};

}  // namespace traffic
