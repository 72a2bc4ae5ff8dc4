// SPDX-License-Identifier: Apache-2.0
#include "core/histogram.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "memory/application_mode.h"

namespace orrery {

/// Rare: a run's values soon have all their octaves. May be called in a handler.
void Histogram::Side::reach(std::uint32_t bucket) {
  const memory::PlatformMode platform;
  std::uint32_t begin = bucket & ~(kOctave - 1), end = begin + kOctave;
  if (!counts.empty()) {
    begin = std::min(begin, first);
    end = std::max(end, first + static_cast<std::uint32_t>(counts.size()));
  }
  std::vector<std::uint64_t> wider(end - begin);
  std::copy(counts.begin(), counts.end(), wider.begin() + (counts.empty() ? 0 : first - begin));
  counts = std::move(wider);
  first = begin;
}

void Histogram::Side::merge(const Side& other) {
  other.for_each_up([this](std::uint32_t bucket, std::uint64_t n) {
    add(bucket, n);
    return true;
  });
}

void Histogram::merge(const Histogram& other) {
  positive_.merge(other.positive_);
  negative_.merge(other.negative_);
  zeros_ += other.zeros_;
  undefined_ += other.undefined_;
}

std::uint64_t Histogram::count() const {
  const auto sum = [](const Side& side) {
    return std::accumulate(side.counts.begin(), side.counts.end(), std::uint64_t{0});
  };
  return sum(negative_) + zeros_ + sum(positive_);
}

double Histogram::quantile(double q) const {
  const std::uint64_t all = count();
  if (all == 0) return 0;
  // 0.07 * 100 is a little more than 7 in doubles, but means the seventh value.
  const double place = std::ceil(q * static_cast<double>(all) * (1 - 0x1p-50));
  std::uint64_t left = place < 1 ? 1 : std::min(static_cast<std::uint64_t>(place), all);
  double value = 0;
  const auto seek = [&](double sign) {
    return [&, sign](std::uint32_t bucket, std::uint64_t n) {
      value = sign * middle(bucket);
      if (n >= left) return false;
      left -= n;
      return true;
    };
  };
  if (!negative_.for_each_down(seek(-1))) return value;
  if (zeros_ >= left) return 0;
  left -= zeros_;
  positive_.for_each_up(seek(1));
  return value;
}

void Histogram::write(std::vector<std::uint64_t>& words) const {
  words.insert(words.end(), {zeros_, undefined_});
  for (const Side* side : {&positive_, &negative_}) {
    words.insert(words.end(), {side->first, side->counts.size()});
    words.insert(words.end(), side->counts.begin(), side->counts.end());
  }
}

std::span<const std::uint64_t> Histogram::merge_words(std::span<const std::uint64_t> words) {
  const auto take = [&words](std::size_t n) {
    if (n > words.size()) throw std::logic_error("a histogram is shorter than it says");
    const auto taken = words.first(n);
    words = words.subspan(n);
    return taken;
  };
  const auto counts = take(2);
  zeros_ += counts[0];
  undefined_ += counts[1];
  for (Side* side : {&positive_, &negative_}) {
    const auto head = take(2);
    const auto buckets = take(head[1]);
    for (std::size_t i = 0; i < buckets.size(); ++i)
      if (buckets[i] > 0) side->add(static_cast<std::uint32_t>(head[0] + i), buckets[i]);
  }
  return words;
}

}  // namespace orrery
