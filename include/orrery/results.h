// SPDX-License-Identifier: Apache-2.0
//
// What a model reports: metrics (numbers summarised over the run), tables (rows, kept in time
// order) and derived values. A model declares them as members; handlers refer to them by those
// members; only what commits is ever seen.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace orrery {

class Model;

/// A number that handlers record; the run reports its count, sum, mean, standard deviation, minimum
/// and maximum over all committed events.
class Metric {
 public:
  /// `unit` may be empty ("1"); `help` is one line.
  Metric(Model& model, std::string name, std::string unit, std::string help);
  Metric(const Metric&) = delete;
  Metric& operator=(const Metric&) = delete;

  std::uint32_t index() const { return index_; }
  const std::string& name() const { return name_; }
  const std::string& unit() const { return unit_; }
  const std::string& help() const { return help_; }

 private:
  std::uint32_t index_;
  std::string name_, unit_, help_;
};

enum class ColumnType : std::uint8_t { integer, real };

struct Column {
  std::string name;
  ColumnType type = ColumnType::real;
  std::string unit = {};
};

/// A table of rows that handlers emit. Every row also gets the time (in ticks) and the LP that
/// emitted it. At most 16 columns.
class Table {
 public:
  static constexpr std::size_t kMaxColumns = 16;
  Table(Model& model, std::string name, std::vector<Column> columns, std::string help);
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  std::uint32_t index() const { return index_; }
  const std::string& name() const { return name_; }
  const std::string& help() const { return help_; }
  const std::vector<Column>& columns() const { return columns_; }

 private:
  std::uint32_t index_;
  std::string name_, help_;
  std::vector<Column> columns_;
};

/// What is known of a metric: kept per LP in the order of its events and combined in the order of
/// the LPs, so that the last bit of a floating-point sum does not depend on the engine.
struct Summary {
  std::uint64_t count = 0;
  double sum = 0.0;
  double squares = 0.0;  ///< sum of squared differences from the mean (Welford 1962)
  double minimum = 0.0;
  double maximum = 0.0;

  void add(double value);
  /// Combines two summaries (Chan, Golub, LeVeque 1979).
  void merge(const Summary& other);
  double mean() const { return count == 0 ? 0.0 : sum / static_cast<double>(count); }
  /// Sample standard deviation; 0 for fewer than two values.
  double deviation() const;
};

/// What `Model::report` writes: values derived from the metrics of the whole run.
class Report {
 public:
  virtual ~Report() = default;
  virtual const Summary& total(const Metric& metric) const = 0;
  /// Adds a named result. `help` is one line; `unit` may be empty.
  virtual void value(std::string_view name, double value, std::string_view unit,
                     std::string_view help) = 0;
  /// The same of what is no number: a name, a digest.
  virtual void text(std::string_view name, std::string_view text, std::string_view help) = 0;
};

}  // namespace orrery
