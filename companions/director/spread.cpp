// SPDX-License-Identifier: Apache-2.0
#include "director/spread.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace orrery::director {
namespace {

constexpr int kBits = 6;
constexpr std::uint64_t kBinsOfDoubling = std::uint64_t{1} << kBits;
constexpr std::size_t kBins = (64 - kBits) * kBinsOfDoubling;

int shift_of(std::uint64_t value) {
  return std::max(0, int(std::bit_width(value)) - kBits - 1);
}

/// Values below 128 have a bin each; above, there are 64 bins for each doubling.
std::size_t bin_of(std::uint64_t value) {
  const int shift = shift_of(value);
  return std::size_t(shift) * kBinsOfDoubling + (value >> shift);
}

/// The smallest value above the bin.
double end_of(std::size_t bin) {
  const std::size_t shift = bin < 2 * kBinsOfDoubling ? 0 : bin / kBinsOfDoubling - 1;
  return std::ldexp(double(bin - shift * kBinsOfDoubling + 1), int(shift));
}

}  // namespace

SpreadCounts::SpreadCounts(Nanoseconds tick) : tick_(tick), counts_(kBins) {}

void SpreadCounts::add(Nanoseconds spread) {
  ++counts_[bin_of(static_cast<std::uint64_t>(std::max<Nanoseconds>(0, spread)))];
  most_ = std::max(most_, spread);
  ++samples_;
}

double SpreadCounts::quantile(double share) const {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * double(samples_)));
  std::uint64_t seen = 0;
  for (std::size_t bin = 0; bin < counts_.size(); ++bin) {
    seen += counts_[bin];
    if (seen >= wanted) return std::min(end_of(bin) / double(tick_), most());
  }
  return most();
}

}  // namespace orrery::director
