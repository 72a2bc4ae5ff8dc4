// SPDX-License-Identifier: Apache-2.0
#include "page/bins.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace orrery::page {
namespace {

constexpr std::size_t kMostBars = 48;
constexpr double kBucketsOfAnOctave = 128;

using Counts = std::map<double, double>;

bool are_few_integers(const Counts& counts) {
  if (counts.rbegin()->first - counts.begin()->first >= kMostBars) return false;
  return std::all_of(counts.begin(), counts.end(),
                     [](const auto& one) { return one.first == std::trunc(one.first); });
}

double median(const Counts& counts) {
  double all = 0, below = 0;
  for (const auto& [value, count] : counts) all += count;
  for (const auto& [value, count] : counts)
    if (below += count; 2 * below >= all) return value;
  return 0;
}

double bucket_width(double value) {
  if (value == 0) return 0;
  return std::exp2(std::floor(std::log2(std::fabs(value)))) / kBucketsOfAnOctave;
}

Bins linear(double low, double high, std::size_t bars) {
  Bins bins;
  for (std::size_t i = 0; i <= bars; ++i)
    bins.edges.push_back(low + (high - low) * static_cast<double>(i) / static_cast<double>(bars));
  return bins;
}

Bins logarithmic(double low, double high) {
  Bins bins;
  bins.logarithmic = true;
  for (std::size_t i = 0; i <= kMostBars; ++i)
    bins.edges.push_back(low * std::pow(high / low, static_cast<double>(i) / kMostBars));
  return bins;
}

}  // namespace

Bins bins_for(const std::vector<std::vector<Counted>>& histograms) {
  Counts counts;
  for (const auto& histogram : histograms)
    for (const Counted& one : histogram)
      if (std::isfinite(one.value) && one.count > 0) counts[one.value] += one.count;
  if (counts.empty()) return {};
  const double low = counts.begin()->first, high = counts.rbegin()->first;
  if (are_few_integers(counts)) {
    Bins bins = linear(low - 0.5, high + 0.5, static_cast<std::size_t>(high - low) + 1);
    bins.whole = true;
    return bins;
  }
  const double from = low - bucket_width(low) / 2, to = high + bucket_width(high) / 2;
  if (from > 0 && median(counts) < 2 * to / kMostBars) return logarithmic(from, to);
  return linear(from > 0 && from < to / 2 ? 0 : from, to > from ? to : from + 1, kMostBars);
}

std::vector<double> filled(const Bins& bins, const std::vector<Counted>& histogram) {
  const auto& edges = bins.edges;
  if (edges.size() < 2) return {};
  std::vector<double> counts(edges.size() - 1, 0.0);
  const auto bar_of = [&](double value) {
    const auto above = std::upper_bound(edges.begin(), edges.end(), value) - edges.begin();
    return static_cast<std::size_t>(
        std::clamp<std::ptrdiff_t>(above - 1, 0, static_cast<std::ptrdiff_t>(counts.size()) - 1));
  };
  for (const Counted& one : histogram) {
    if (!std::isfinite(one.value)) continue;
    const double width = bucket_width(one.value);
    const double from = one.value - width / 2, to = one.value + width / 2;
    const std::size_t first = bar_of(from), last = bar_of(to);
    if (first == last) {
      counts[first] += one.count;
      continue;
    }
    for (std::size_t bar = first; bar <= last; ++bar) {
      const double left = bar == first ? from : edges[bar];
      const double right = bar == last ? to : edges[bar + 1];
      counts[bar] += one.count * (right - left) / width;
    }
  }
  return counts;
}

}  // namespace orrery::page
