// SPDX-License-Identifier: Apache-2.0
//
// What a model reports: metrics (numbers summarised over the run), tables (rows, kept in time
// order) and derived values. A model declares them as members; handlers refer to them by those
// members; only what commits is ever seen.
//
// All that a metric keeps has the same bits on every engine: what is added up as floating-point
// numbers is added in one order, what is counted side by side is counted in integers.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "orrery/time.h"

namespace orrery {

class Model;

/// What a metric keeps; joined by `|`.
enum class Keep : std::uint8_t {
  /// Of the values that are recorded: count, sum, mean, standard deviation, minimum, maximum.
  summary = 0,
  /// These, and quantiles of the values, each wrong by at most 1/256 of itself (0.4 %); whole
  /// numbers up to 256 are exact. The values are counted in buckets whose width grows with them, as
  /// in HdrHistogram (Tene) and DDSketch (Masson, Rim and Lee: DDSketch: a fast and fully-mergeable
  /// quantile sketch with relative-error guarantees, VLDB 2019).
  histogram = 1,
  /// These, and count and sum for each simulated second of the run.
  rate = 2,
  /// No values at moments but one that lasts until the next (a queue's length, busy servers), set
  /// by `level`: mean, deviation and extremes over time. Not together with the others.
  level = 4,
};
constexpr Keep operator|(Keep a, Keep b) {
  return static_cast<Keep>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

/// A number that handlers record; the run reports what it is to keep of all committed events.
class Metric {
 public:
  /// `unit` may be empty ("1"); `help` is one line. Throws UsageError for a level that is to keep
  /// something else, too.
  Metric(Model& model, std::string name, std::string unit, std::string help,
         Keep keep = Keep::summary);
  Metric(const Metric&) = delete;
  Metric& operator=(const Metric&) = delete;

  /// For the model's constructor or prepare(): nothing before that time counts. Values that are
  /// recorded earlier are dropped; a level keeps its value, and its time counts from then on. For a
  /// warm-up.
  void observe_from(Time from) { observed_from_ = from; }
  Time observed_from() const { return observed_from_; }

  /// The same, to keep a time series as well: count, sum, mean and extremes of the values of each
  /// interval, of a level its mean over time, added up over all LPs. Intervals begin at multiples
  /// of `interval`. They are written to files only (docs/report.md). Throws UsageError for an
  /// interval that is not above zero. A model fault: a value is recorded in an interval beyond the
  /// first million (2^20), so choose one with the horizon in mind.
  void series(Duration interval) { set_series(interval); }
  bool has_series() const { return interval_ > Duration::zero(); }
  Duration interval() const { return interval_; }
  /// Where intervals would be too many.
  Time series_end() const { return series_end_; }

  bool keeps(Keep one) const {
    return (static_cast<unsigned>(keep_) & static_cast<unsigned>(one)) != 0;
  }
  bool is_level() const { return keeps(Keep::level); }
  std::uint32_t index() const { return index_; }
  const std::string& name() const { return name_; }
  const std::string& unit() const { return unit_; }
  const std::string& help() const { return help_; }
  /// Where its state lies among those of an LP, in bytes: for engines.
  std::uint32_t offset() const { return offset_; }

 private:
  friend struct ModelAccess;
  void set_series(Duration interval) const;

  std::uint32_t index_, offset_;
  Keep keep_;
  // A run may be asked for more than the model declares, also where a metric is a constant.
  mutable Time observed_from_ = Time::zero();
  mutable Duration interval_ = Duration::zero();
  mutable Time series_end_ = Time::max();
  std::string name_, unit_, help_;
};

enum class ColumnType : std::uint8_t { integer, real, text };
/// "integer", "real", "text"
const char* name_of(ColumnType type);

struct Column {
  std::string name;
  ColumnType type = ColumnType::real;
  std::string unit = {};
};

/// A table of rows that handlers emit. Every row also gets the time (in ticks) and the LP that
/// emitted it. At most 16 columns; the texts of a row are at most 4096 bytes together, in UTF-8.
class Table {
 public:
  static constexpr std::size_t kMaxColumns = 16;
  static constexpr std::size_t kMaxTextBytes = 4096;
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
  /// NaN, which is no value in reports and studies, if there are no values.
  double mean() const {
    return count == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(count);
  }
  /// Sample standard deviation; 0 for fewer than two values.
  double deviation() const;
};

/// What is known of a level: of each LP over the time from its first `level` to the end of the run,
/// and combined in the order of the LPs.
struct LevelSummary {
  std::uint64_t lps = 0;      ///< that have the level
  std::uint64_t changes = 0;  ///< calls of `level`
  double ticks = 0.0;         ///< that it was watched, summed over the LPs
  double area = 0.0;          ///< value * ticks, summed over time and LPs
  double squares = 0.0;       ///< of differences from the mean, * ticks (West 1979)
  double minimum = 0.0;       ///< of what lasted for some time
  double maximum = 0.0;
  double total = 0.0;  ///< sum of the LPs' means: of the whole model, where LPs are parts of it

  /// Over time, of one LP; NaN if it was watched for no time.
  double mean() const {
    return ticks == 0 ? std::numeric_limits<double>::quiet_NaN() : area / ticks;
  }
  /// Standard deviation of the value at a moment and an LP that are chosen at random.
  double deviation() const;
  void merge(const LevelSummary& other);
};

/// What `Model::report` writes: values derived from the metrics of the whole run.
class Report {
 public:
  virtual ~Report() = default;
  /// Of a level, all 0.
  virtual const Summary& total(const Metric& metric) const = 0;
  /// The smallest value that the share `q` of all values, from 0 to 1, does not exceed; of a metric
  /// that keeps a histogram, within its error. NaN, which is no value, if there are none.
  virtual double quantile(const Metric& metric, double q) const = 0;
  virtual const LevelSummary& level(const Metric& metric) const = 0;
  /// Simulated seconds that the metric was observed: what rates are divided by.
  virtual double seconds(const Metric& metric) const = 0;
  /// Adds a named result. `help` is one line; `unit` may be empty.
  virtual void value(std::string_view name, double value, std::string_view unit,
                     std::string_view help) = 0;
  /// The same of what is no number: a name, a digest.
  virtual void text(std::string_view name, std::string_view text, std::string_view help) = 0;
};

}  // namespace orrery
