// SPDX-License-Identifier: Apache-2.0
//
// Metrics and tables: registration with their model, and summaries. Compiled without contraction of
// floating-point expressions, so that sums have the same bits everywhere.
#include "orrery/results.h"

#include <cmath>
#include <utility>

#include "orrery/error.h"
#include "orrery/model.h"

namespace orrery {

Metric::Metric(Model& model, std::string name, std::string unit, std::string help)
    : index_(static_cast<std::uint32_t>(model.metrics_.size())),
      name_(std::move(name)),
      unit_(std::move(unit)),
      help_(std::move(help)) {
  model.metrics_.push_back(this);
}

Table::Table(Model& model, std::string name, std::vector<Column> columns, std::string help)
    : index_(static_cast<std::uint32_t>(model.tables_.size())),
      name_(std::move(name)),
      help_(std::move(help)),
      columns_(std::move(columns)) {
  if (columns_.empty() || columns_.size() > kMaxColumns) {
    throw UsageError("table '" + name_ + "' has " + std::to_string(columns_.size()) +
                     " columns; 1 to " + std::to_string(kMaxColumns) + " are possible");
  }
  model.tables_.push_back(this);
}

void Summary::add(double value) {
  if (count == 0) {
    *this = {1, value, 0.0, value, value};
    return;
  }
  const double before = value - mean();
  ++count;
  sum += value;
  squares += before * (value - mean());
  if (value < minimum) minimum = value;
  if (value > maximum) maximum = value;
}

void Summary::merge(const Summary& other) {
  if (other.count == 0) return;
  if (count == 0) {
    *this = other;
    return;
  }
  const double distance = other.mean() - mean();
  const double share = static_cast<double>(count) * static_cast<double>(other.count) /
                       static_cast<double>(count + other.count);
  squares += other.squares + distance * distance * share;
  count += other.count;
  sum += other.sum;
  if (other.minimum < minimum) minimum = other.minimum;
  if (other.maximum > maximum) maximum = other.maximum;
}

double Summary::deviation() const {
  return count < 2 ? 0.0 : std::sqrt(squares / static_cast<double>(count - 1));
}

}  // namespace orrery
