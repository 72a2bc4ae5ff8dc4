// SPDX-License-Identifier: Apache-2.0
#include "study/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/error.h"

namespace orrery::study {

std::uint64_t Plan::seed(std::uint64_t replication) const {
  if (replication < seeds.size()) return seeds[replication];
  const std::uint64_t largest = *std::max_element(seeds.begin(), seeds.end());
  return largest + 1 + (replication - seeds.size());
}

std::vector<Settings> combine(const std::vector<Settings>& listed, const std::vector<Axis>& axes) {
  std::vector<Settings> points = listed;
  if (points.empty()) points.emplace_back();
  for (const Axis& axis : axes) {
    if (points.size() * axis.values.size() > kMostPoints)
      throw UsageError(fmt::format(
          "a study has at most {} points, and these are more; take fewer values", kMostPoints));
    std::vector<Settings> finer;
    for (const Settings& point : points) {
      for (const std::string& value : axis.values) {
        finer.push_back(point);
        finer.back().emplace_back(axis.name, value);
      }
    }
    points = std::move(finer);
  }
  return points;
}

std::string text_of(const Settings& settings) {
  std::string text;
  for (const auto& [name, value] : settings)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  return text;
}

std::string with_text(const Settings& settings) {
  return settings.empty() ? "" : fmt::format("with {}, ", text_of(settings));
}

}  // namespace orrery::study
