// SPDX-License-Identifier: Apache-2.0
//
// A run of a model by name with parameters, and what a test wants to know of it: metrics by name,
// derived values by name, rows of a table as maps from column to value.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "equality/run_model.h"
#include "orrery/error.h"
#include "output/metric_figures.h"

namespace orrery::testing {

using Settings = std::vector<std::pair<std::string, std::string>>;

inline std::unique_ptr<Model> prepared_model(const std::string& name, const Settings& settings) {
  auto model = make_model(name);
  for (const auto& [parameter, value] : settings) set_parameter(*model, parameter, value);
  model->prepare();
  return model;
}

/// What the model says of settings that it does not take.
inline std::string refusal(const std::string& name, const Settings& settings) {
  try {
    prepared_model(name, settings);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

/// `base` with more settings, which win.
inline Settings with(Settings base, const Settings& more) {
  base.insert(base.end(), more.begin(), more.end());
  return base;
}

class Simulation final : private Report {
 public:
  using Line = std::map<std::string, double>;

  Simulation(const std::string& name, const Settings& settings, Duration until,
             std::uint64_t seed = 1, const std::string& engine = "sequential", unsigned workers = 1)
      : model_(prepared_model(name, settings)) {
    RunOptions options;
    options.seed = seed;
    options.workers = workers;
    options.until = Time::zero() + until;
    outcome_ = run_model(*model_, engine, options);
    EXPECT_EQ(outcome_.result.end, RunEnd::completed) << outcome_.result.fault;
    model_->report(*this, outcome_.result.reached);
  }

  const Model& model() const { return *model_; }
  const Outcome& outcome() const { return outcome_; }
  /// A value that the model derived.
  double operator[](const std::string& name) const { return values_.at(name); }
  bool has(const std::string& name) const { return values_.contains(name); }

  const Summary& metric(const std::string& name) const {
    for (const Metric* metric : model_->metrics())
      if (metric->name() == name) return outcome_.result.metrics.at(metric->index());
    throw std::out_of_range("no metric " + name);
  }

  /// One of its figures, "p99" for instance.
  double figure(const std::string& name, const std::string& figure) const {
    for (const Metric* metric : model_->metrics()) {
      if (metric->name() != name) continue;
      for (const MetricFigure& one : figures_of(*metric, *model_, outcome_.result))
        if (one.name == figure) return one.value.value();
    }
    throw std::out_of_range("no " + name + "." + figure);
  }

  std::vector<Line> table(const std::string& name) const {
    for (const Table* table : model_->tables())
      if (table->name() == name) return lines_of(*table);
    throw std::out_of_range("no table " + name);
  }

 private:
  const Summary& total(const Metric& metric) const override {
    return outcome_.result.metrics.at(metric.index());
  }
  double quantile(const Metric& metric, double q) const override {
    return quantile_of(metric, outcome_.result, q).value_or(0);
  }
  const LevelSummary& level(const Metric& metric) const override {
    return level_of(metric, outcome_.result);
  }
  double seconds(const Metric& metric) const override {
    return observed_seconds(metric, *model_, outcome_.result);
  }
  void value(std::string_view name, double value, std::string_view, std::string_view) override {
    values_[std::string(name)] = value;
  }
  void text(std::string_view, std::string_view, std::string_view) override {}

  std::vector<Line> lines_of(const Table& table) const {
    std::vector<Line> lines;
    for (const auto& [key, lp, ordinal, index, cells] : outcome_.rows) {
      if (index != table.index()) continue;
      Line& line = lines.emplace_back();
      for (std::size_t i = 0; i < cells.size(); ++i) {
        double value = static_cast<double>(static_cast<std::int64_t>(cells[i]));
        if (table.columns()[i].type == ColumnType::real)
          std::memcpy(&value, &cells[i], sizeof value);
        line[table.columns()[i].name] = value;
      }
    }
    return lines;
  }

  std::unique_ptr<Model> model_;
  Outcome outcome_;
  std::map<std::string, double> values_;
};

/// What the promise of one result for all engines means for a run: fingerprint, committed events,
/// rows in order, and metrics to the last bit.
inline void expect_same_commit(const Outcome& expected, const Outcome& actual,
                               const std::string& what) {
  ASSERT_EQ(actual.result.end, RunEnd::completed) << what << ": " << actual.result.fault;
  EXPECT_EQ(actual.result.fingerprint, expected.result.fingerprint) << what;
  EXPECT_EQ(actual.result.committed, expected.result.committed) << what;
  EXPECT_EQ(actual.rows, expected.rows) << what;
  EXPECT_FALSE(actual.late_rows) << what;
  ASSERT_EQ(actual.result.metrics.size(), expected.result.metrics.size()) << what;
  for (std::size_t i = 0; i < expected.result.metrics.size(); ++i) {
    EXPECT_EQ(actual.result.metrics[i].count, expected.result.metrics[i].count) << what;
    EXPECT_EQ(actual.result.metrics[i].sum, expected.result.metrics[i].sum) << what;
    EXPECT_EQ(actual.result.metrics[i].squares, expected.result.metrics[i].squares) << what;
  }
}

/// The same run on every engine that is built in, with one to four workers each.
inline void expect_same_on_all_engines(const std::string& name, const Settings& settings,
                                       Duration until) {
  const Simulation expected(name, settings, until);
  ASSERT_GT(expected.outcome().result.committed, 100u);
  for (const auto& engine : engines()) {
    if (engine.use != EngineUse::results) continue;  // the checker has tests of its own
    for (const unsigned workers : {1u, 2u, 3u, 4u}) {
      const Simulation actual(name, settings, until, 1, std::string(engine.name), workers);
      expect_same_commit(expected.outcome(), actual.outcome(),
                         std::string(engine.name) + ", workers " + std::to_string(workers));
      if (engine.name == "sequential") break;
    }
  }
}

}  // namespace orrery::testing
