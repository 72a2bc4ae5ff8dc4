// SPDX-License-Identifier: Apache-2.0
#include "profile.h"

#include <algorithm>
#include <numeric>

namespace traffic {
namespace {

using orrery::Duration;

/// A trapezium in steps: rises for a quarter of the period, is constant, falls for a quarter.
const std::vector<int> kPeak{1, 2, 3, 4, 4, 4, 4, 4, 4, 3, 2, 1};

/// Promille of a working day's trips by the hour of departure, if the period is a day. The
/// afternoon peak is higher and longer than the morning peak. These rates are an assumption, in the
/// shape of traffic counts in towns: 82 of 1000 in the busiest hour, 3 in the quietest.
const std::vector<int> kDay{7,  4,  3,  4,  9,  22, 46, 72, 66, 52, 49, 51,
                            55, 56, 61, 71, 80, 82, 63, 47, 37, 30, 20, 13};

}  // namespace

DepartureProfile::DepartureProfile(const std::string& name, Duration period) : period_(period) {
  if (name == "flat") return;
  const std::vector<int>& rates = name == "peak" ? kPeak : kDay;
  const int total = std::accumulate(rates.begin(), rates.end(), 0);
  const int busiest = *std::max_element(rates.begin(), rates.end());
  mean_rate_ = static_cast<double>(total) / static_cast<double>(rates.size()) / busiest;
  int before = 0;
  for (const int rate : rates) {
    begin_.push_back(Duration::from_seconds(period.to_seconds() * before / total));
    before += rate;
  }
  begin_.push_back(period);
}

Duration DepartureProfile::mapped(Duration elapsed) const {
  if (elapsed >= period_) return period_;
  const auto next = std::upper_bound(begin_.begin(), begin_.end() - 1, elapsed);
  const Duration first = *(next - 1);
  const double part =
      static_cast<double>((elapsed - first).ticks()) / static_cast<double>((*next - first).ticks());
  const double step = period_.to_seconds() / static_cast<double>(begin_.size() - 1);
  const auto index = static_cast<double>(next - 1 - begin_.begin());
  return std::min(period_, Duration::from_seconds((index + part) * step));
}

}  // namespace traffic
