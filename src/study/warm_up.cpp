// SPDX-License-Identifier: Apache-2.0
#include "study/warm_up.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "orrery/error.h"
#include "output/batch_means.h"
#include "output/sqlite.h"

namespace orrery::study {
namespace {

constexpr std::size_t kBatch = 5, kLeastBatches = 10;
/// With fewer batches the estimated error would be small by chance.
constexpr std::size_t kLeastRest = 5;

std::vector<double> batch_means(std::span<const double> values) {
  std::vector<double> means;
  for (std::size_t i = 0; i + kBatch <= values.size(); i += kBatch) {
    double sum = 0;
    for (const double value : values.subspan(i, kBatch)) sum += value;
    means.push_back(sum / kBatch);
  }
  return means;
}

}  // namespace

void add_pilot(const std::string& path, const std::string& metric,
               std::vector<PilotInterval>& sums) try {
  const SqliteFile file(path, SqliteFile::Use::read);
  SqliteStatement rows(file,
                       "SELECT end_ticks, count, sum, total FROM orrery_series WHERE metric = ? "
                       "ORDER BY begin_ticks",
                       {metric});
  std::size_t place = 0;
  for (; rows.next(); ++place) {
    if (place == sums.size()) sums.emplace_back();
    PilotInterval& one = sums[place];
    one.end_ticks = std::max(one.end_ticks, static_cast<std::int64_t>(rows.whole(0)));
    const bool of_level = !rows.number_or_nothing(2) && rows.number_or_nothing(3);
    one.amount += rows.number(of_level ? 3 : 2);
    one.weight += of_level ? 1.0 : rows.number(1);
  }
  if (place == 0) throw std::runtime_error("there is none");
} catch (const std::runtime_error& error) {
  throw UsageError(
      fmt::format("cannot read the series of a pilot from '{}': {}", path, error.what()));
}

/// Computes from the end, so that each error needs one more addition.
std::optional<std::size_t> mser5(std::span<const double> values) {
  const std::vector<double> means = batch_means(values);
  if (means.size() < kLeastBatches) return {};
  std::size_t best = 0;
  double least = INFINITY, mean = 0, squares = 0;  // Welford's
  for (std::size_t left = means.size(); left-- > 0;) {
    const auto rest = static_cast<double>(means.size() - left);
    const double distance = means[left] - mean;
    mean += distance / rest;
    squares += distance * (means[left] - mean);
    if (means.size() - left < kLeastRest) continue;
    const double error = squares / (rest * rest);
    if (error > least) continue;
    least = error;
    best = left;
  }
  return best * kBatch;
}

WarmUp warm_up_of(std::span<const PilotInterval> sums) {
  if (are_at_end_only(sums, &PilotInterval::weight))
    return {.too_short = true, .at_end_only = true};
  std::vector<double> means;
  std::vector<std::int64_t> ends;
  for (const PilotInterval& one : sums) {
    if (one.weight == 0) continue;
    means.push_back(one.amount / one.weight);
    ends.push_back(one.end_ticks);
  }
  if (means.empty()) return {.too_short = true, .no_values = true};
  const auto left_away = mser5(means);
  if (!left_away) return {.too_short = true};
  if (*left_away == 0) return {};
  const std::int64_t ticks = ends[*left_away - 1];
  return {.ticks = ticks, .too_short = ticks > sums.back().end_ticks / 2};
}

std::int64_t rounded_up(std::int64_t ticks, double tick_seconds) {
  if (ticks <= 0) return 0;
  constexpr double kNearly = 1e-9;  // 350 s must not become 360 s because of a rounding error
  const double seconds = static_cast<double>(ticks) * tick_seconds;
  const double unit = std::pow(10.0, std::floor(std::log10(seconds)) - 1);
  const double rounded = std::ceil(seconds / unit * (1 - kNearly)) * unit;
  return std::max(ticks, static_cast<std::int64_t>(std::llround(rounded / tick_seconds)));
}

}  // namespace orrery::study
