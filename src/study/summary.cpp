// SPDX-License-Identifier: Apache-2.0
#include "study/summary.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace orrery::study {
namespace {

/// Points that differ in one parameter only.
struct Family {
  Settings others;
  std::vector<std::pair<std::string, std::size_t>> members;  ///< value and point
};

std::vector<Family> families_of(const Plan& plan, const std::string& parameter) {
  std::vector<Family> families;
  for (std::size_t point = 0; point < plan.points.size(); ++point) {
    Settings others;
    std::string own;
    for (const auto& setting : plan.points[point]) {
      if (setting.first == parameter)
        own = setting.second;
      else
        others.push_back(setting);
    }
    auto family = std::find_if(families.begin(), families.end(),
                               [&](const Family& one) { return one.others == others; });
    if (family == families.end())
      family = families.insert(families.end(), Family{std::move(others), {}});
    family->members.emplace_back(std::move(own), point);
  }
  return families;
}

std::map<std::uint64_t, double> by_seed(const RunTable& runs, std::size_t point,
                                        std::size_t measure) {
  std::map<std::uint64_t, double> values;
  for (const RunRow& row : runs.rows_of(point))
    if (measure < row.numbers.size() && row.numbers[measure])
      values[row.seed] = *row.numbers[measure];
  return values;
}

/// The differences at the seeds that both points have.
std::vector<double> differences(const RunTable& runs, std::size_t first, std::size_t second,
                                std::size_t measure) {
  const auto before = by_seed(runs, first, measure), after = by_seed(runs, second, measure);
  std::vector<double> values;
  for (const auto& [seed, value] : before)
    if (const auto other = after.find(seed); other != after.end())
      values.push_back(other->second - value);
  return values;
}

void compare_family(const Family& family, const RunTable& runs, std::size_t measure,
                    double confidence, std::vector<Difference>& all) {
  const std::size_t count = family.members.size();
  if (count < 2) return;
  const double each = simultaneous_confidence(confidence, count * (count - 1) / 2);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = i + 1; k < count; ++k) {
      const auto& [first, first_point] = family.members[i];
      const auto& [second, second_point] = family.members[k];
      const auto values = differences(runs, first_point, second_point, measure);
      if (values.empty()) continue;
      all.push_back({measure, family.others, first, second, estimate(values, each), each});
    }
  }
}

}  // namespace

double confidence_of(const Plan& plan, const std::string& measure, double otherwise) {
  double highest = 0;
  for (const PrecisionRule& rule : plan.rules)
    if (rule.measure == measure) highest = std::max(highest, rule.confidence);
  return highest > 0 ? highest : otherwise;
}

std::vector<SummaryRow> summarise(const Plan& plan, const RunTable& runs, double confidence) {
  std::vector<SummaryRow> rows;
  for (std::size_t measure = 0; measure < runs.measures().size(); ++measure) {
    const double each = confidence_of(plan, runs.measures()[measure].name, confidence);
    for (std::size_t point = 0; point < plan.points.size(); ++point) {
      const std::vector<double> values = runs.values(point, measure);
      if (!values.empty()) rows.push_back({point, measure, estimate(values, each), each});
    }
  }
  return rows;
}

bool Difference::is_certain() const {
  return estimate.half_width && std::fabs(estimate.mean) > *estimate.half_width;
}

std::vector<Difference> compare(const Plan& plan, const RunTable& runs,
                                const std::string& parameter, double confidence) {
  std::vector<Difference> all;
  const std::vector<Family> families = families_of(plan, parameter);
  for (std::size_t measure = 0; measure < runs.measures().size(); ++measure)
    for (const Family& family : families) compare_family(family, runs, measure, confidence, all);
  return all;
}

}  // namespace orrery::study
