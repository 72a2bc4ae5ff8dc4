// SPDX-License-Identifier: Apache-2.0
//
// Computes the transmit power of a mobile. After S. Kandukuri and S. Boyd, "Optimal power control
// in interference-limited fading wireless channels with outage-probability specifications", IEEE
// Trans. Wireless Communications 1(1), 2002: mobile k, at power P_k, is received with power G_k F_k
// P_k, where G is the path gain (distance) and F the fading, exponentially distributed with mean 1
// (Rayleigh). The signal-to-interference ratio on the channel of mobile i is
//
//   SIR_i = G_i F_i P_i / (N + L * sum over k != i of G_k F_k P_k),
//
// where N is the noise and L the share of the power on other channels that leaks into one channel.
// The minimum power is the P_i at which SIR_i is the wanted ratio, limited to what a mobile can
// transmit. Applied to all mobiles in turn, this is the iteration of G. Foschini and Z. Miljanic,
// "A simple distributed autonomous power control algorithm and its convergence", IEEE Trans.
// Vehicular Technology 42(4), 1993.
#pragma once

#include <algorithm>

#include "orrery/math.h"

namespace pcs {

struct Radio {
  static constexpr double kNoiseW = 1e-14;    // -110 dBm: thermal noise of 200 kHz and the receiver
  static constexpr double kEdgeGain = 1e-12;  // -120 dB from the edge of the cell to its base
  static constexpr double kMinPowerW = 1e-3;  // lowest power of a mobile
  static constexpr double kNearestArea = 1e-2;  // no mobile is nearer than a tenth of the radius

  double wanted_sir = 10.0;  // a ratio, not dB
  double leakage = 1e-4;     // a ratio, not dB
  double max_power_w = 2.0;

  static double ratio_of_db(double db) { return orrery::math::pow(10.0, db / 10.0); }

  /// Path gain of a random place, uniform over the area of the cell. `area`: (distance / radius)^2,
  /// the share of the cell's area that is nearer to the base. The gain goes with 1 / area^2, the
  /// fourth-power law of propagation over flat ground.
  static double path_gain(double area) {
    const double place = std::max(area, kNearestArea);
    return kEdgeGain / (place * place);
  }

  /// Power that reaches the wanted ratio on a path of gain G F, if all other channels are received
  /// with `others_w`. `reached` is false if the mobile cannot transmit that much.
  struct Power {
    double watts;
    bool reached;
  };
  Power minimum_power(double path, double others_w) const {
    const double disturbance_w = kNoiseW + orrery::math::product(leakage, others_w);
    const double needed_w = wanted_sir * disturbance_w / path;  // infinite for a path of 0
    return {std::clamp(needed_w, kMinPowerW, max_power_w), needed_w <= max_power_w};
  }
};

}  // namespace pcs
