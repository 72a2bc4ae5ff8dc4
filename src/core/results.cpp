// SPDX-License-Identifier: Apache-2.0
//
// Metrics and tables: registration with their model, and summaries. Compiled without contraction of
// floating-point expressions, so that sums have the same bits everywhere.
#include "orrery/results.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/level_state.h"
#include "orrery/error.h"
#include "orrery/model.h"

namespace orrery {

Metric::Metric(Model& model, std::string name, std::string unit, std::string help, Keep keep)
    : index_(static_cast<std::uint32_t>(model.metrics_.size())),
      offset_(model.metric_bytes_),
      keep_(keep),
      is_counted_(keeps(Keep::histogram)),
      name_(std::move(name)),
      unit_(std::move(unit)),
      help_(std::move(help)) {
  if (is_level() && keep != Keep::level)
    throw UsageError("metric '" + name_ +
                     "' keeps a level, and something else that only recorded values have");
  model.metrics_.push_back(this);
  model.metric_bytes_ += is_level() ? sizeof(LevelState) : sizeof(Summary);
}

void Metric::set_series(Duration interval) const {
  constexpr std::int64_t kMostIntervals = std::int64_t{1} << 20;
  if (interval <= Duration::zero())
    throw UsageError("metric '" + name_ + "': an interval of its series lasts " +
                     std::to_string(interval.ticks()) + " ticks; 1 or more are needed");
  interval_ = interval;
  is_counted_ = true;
  std::int64_t end;
  series_end_ = __builtin_mul_overflow(interval.ticks(), kMostIntervals, &end)
                    ? Time::max()
                    : Time::from_ticks(end);
}

const char* name_of(ColumnType type) {
  switch (type) {
    case ColumnType::integer:
      return "integer";
    case ColumnType::real:
      return "real";
    case ColumnType::text:
      return "text";
  }
  return "";
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
  // For equal values the squares are only rounding errors, possibly too large for a double.
  if (count < 2 || minimum == maximum) return 0.0;
  return std::sqrt(squares / static_cast<double>(count - 1));
}

double LevelSummary::deviation() const {
  return ticks == 0 || minimum == maximum ? 0.0 : std::sqrt(squares / ticks);
}

void LevelSummary::merge(const LevelSummary& other) {
  if (other.lps == 0) return;
  current_total += other.current_total;
  current_minimum =
      lps == 0 ? other.current_minimum : std::min(current_minimum, other.current_minimum);
  current_maximum =
      lps == 0 ? other.current_maximum : std::max(current_maximum, other.current_maximum);
  lps += other.lps;
  changes += other.changes;
  if (other.ticks == 0) return;
  if (ticks == 0) {
    minimum = other.minimum;
    maximum = other.maximum;
  } else {
    const double distance = other.mean() - mean();
    squares += distance * distance * (ticks * other.ticks / (ticks + other.ticks));
    minimum = std::min(minimum, other.minimum);
    maximum = std::max(maximum, other.maximum);
  }
  ticks += other.ticks;
  area += other.area;
  squares += other.squares;
  total += other.total;
}

}  // namespace orrery
