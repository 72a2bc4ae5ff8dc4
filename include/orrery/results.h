// SPDX-License-Identifier: Apache-2.0
//
// The results of a model: metrics (numbers summarised over the run), tables (rows in time order)
// and derived values. A model declares them as members, through which handlers refer to them; only
// results of committed events are reported.
//
// All results of a metric have the same bits on every engine: floating-point sums are added in one
// order, and concurrent counts are integers.
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
struct LpRecording;

/// What a metric keeps; combined by `|`.
enum class Keep : std::uint8_t {
  /// Of the recorded values: count, sum, mean, standard deviation, minimum, maximum.
  summary = 0,
  /// The summary, and quantiles, each with a relative error of at most 1/256 (0.4 %); whole numbers
  /// up to 256 are exact. The values are counted in buckets whose width grows with them, as in
  /// HdrHistogram (Tene) and DDSketch (Masson, Rim and Lee: DDSketch: a fast and fully-mergeable
  /// quantile sketch with relative-error guarantees, VLDB 2019).
  histogram = 1,
  /// The summary, and count and sum per simulated second of the run.
  rate = 2,
  /// A value that lasts until the next (a queue's length, busy servers), set by `level`: mean,
  /// deviation and extremes over time. Not together with the others.
  level = 4,
};
constexpr Keep operator|(Keep a, Keep b) {
  return static_cast<Keep>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

/// A number that handlers record; the run summarises it over all committed events as `Keep` says.
class Metric {
 public:
  /// `unit` may be empty ("1"); `help` is one line. Throws UsageError if `keep` combines a level
  /// with others.
  Metric(Model& model, std::string name, std::string unit, std::string help,
         Keep keep = Keep::summary);
  Metric(const Metric&) = delete;
  Metric& operator=(const Metric&) = delete;

  /// For the model's constructor or prepare(), for a warm-up: observes the metric only from this
  /// time on. Values recorded earlier are dropped; a level keeps its value, and its time counts
  /// from then on.
  void observe_from(Time from) { observed_from_ = from; }
  Time observed_from() const { return observed_from_; }

  /// For the model's constructor or prepare(): also keeps a time series, for each interval count,
  /// sum, mean and extremes of the values, or the mean of a level over time, added up over all LPs.
  /// Intervals begin at multiples of `interval`. Written to files only (docs/report.md). Throws
  /// UsageError unless the interval is above zero. A value in an interval beyond the first million
  /// (2^20) is a model fault, so choose the interval with the horizon in mind.
  void series(Duration interval) { set_series(interval); }
  bool has_series() const { return interval_ > Duration::zero(); }
  Duration interval() const { return interval_; }
  /// The first time whose interval would exceed the limit.
  Time series_end() const { return series_end_; }

  bool keeps(Keep one) const {
    return (static_cast<unsigned>(keep_) & static_cast<unsigned>(one)) != 0;
  }
  bool is_level() const { return keeps(Keep::level); }
  /// For engines: whether single values are counted beside the summary, in a histogram or a series.
  bool is_counted() const { return is_counted_; }
  /// For engines: the LPs of which the run keeps figures of their own; null if of none.
  const LpRecording* recording() const { return recording_; }
  std::uint32_t index() const { return index_; }
  const std::string& name() const { return name_; }
  const std::string& unit() const { return unit_; }
  const std::string& help() const { return help_; }
  /// For engines: offset of this metric's state in an LP's state of all metrics, in bytes.
  std::uint32_t offset() const { return offset_; }

 private:
  friend struct ModelAccess;
  void set_series(Duration interval) const;

  std::uint32_t index_, offset_;
  Keep keep_;
  mutable bool is_counted_;
  // Mutable, since a run may request more than the model declares, also of a constant metric.
  mutable Time observed_from_ = Time::zero();
  mutable Duration interval_ = Duration::zero();
  mutable Time series_end_ = Time::max();
  mutable const LpRecording* recording_ = nullptr;  ///< not owned: the model may move to a snapshot
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

/// Summary of a metric. It is kept per LP in the order of its events and combined in the order of
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
  /// NaN, which reports and studies show as no value, if there are no values.
  double mean() const {
    return count == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(count);
  }
  /// Sample standard deviation; 0 for fewer than two values.
  double deviation() const;
};

/// Summary of a level: of each LP from its first `level` to the end of the run, combined in the
/// order of the LPs.
struct LevelSummary {
  std::uint64_t lps = 0;      ///< LPs that have the level
  std::uint64_t changes = 0;  ///< calls of `level`
  double ticks = 0.0;         ///< ticks observed, summed over the LPs
  double area = 0.0;          ///< value * ticks, summed over time and LPs
  double squares = 0.0;       ///< of differences from the mean, * ticks (West 1979)
  double minimum = 0.0;       ///< extremes of values that lasted for some time
  double maximum = 0.0;
  double total = 0.0;  ///< sum of the LPs' means: the level of the whole model if LPs are its parts
  double current_total = 0.0;  ///< the values at the end, summed over the LPs
  double current_minimum = 0.0, current_maximum = 0.0;

  /// Mean over time, of one LP; NaN if it was observed for no time.
  double mean() const {
    return ticks == 0 ? std::numeric_limits<double>::quiet_NaN() : area / ticks;
  }
  /// Mean of the LPs' values at the end; NaN if no LP has the level.
  double current_mean() const {
    return lps == 0 ? std::numeric_limits<double>::quiet_NaN()
                    : current_total / static_cast<double>(lps);
  }
  /// Standard deviation of the value at a moment and an LP that are chosen at random.
  double deviation() const;
  void merge(const LevelSummary& other);
};

/// Interface for `Model::report`, which adds values derived from the metrics of the whole run.
class Report {
 public:
  virtual ~Report() = default;
  /// All 0 for a level.
  virtual const Summary& total(const Metric& metric) const = 0;
  /// The smallest value that the share `q` (0 to 1) of all values does not exceed, for a metric
  /// that keeps a histogram, within its error. NaN if there are no values.
  virtual double quantile(const Metric& metric, double q) const = 0;
  virtual const LevelSummary& level(const Metric& metric) const = 0;
  /// Simulated seconds during which the metric was observed: the divisor of rates.
  virtual double seconds(const Metric& metric) const = 0;
  /// Adds a named result. `help` is one line; `unit` may be empty.
  virtual void value(std::string_view name, double value, std::string_view unit,
                     std::string_view help) = 0;
  /// The same for a result that is no number: a name, a digest.
  virtual void text(std::string_view name, std::string_view text, std::string_view help) = 0;
};

}  // namespace orrery
