// SPDX-License-Identifier: Apache-2.0
#include "page/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <stdexcept>

#include "output/sqlite.h"
#include "page/lp_results.h"

namespace orrery::page {
namespace {

constexpr std::size_t kMostPoints = 400;  // of a series
constexpr std::size_t kPreviewRows = 6;
constexpr std::uint64_t kMostRowsRead = 5'000'000;           // of a table, for courses
constexpr std::uint64_t kMostTimes = 100, kFewestTimes = 6;  // of a course
constexpr std::uint64_t kRowsOfATime = 10;                   // at least, if rows are occurrences
constexpr double kVarianceRatio = 2;

void read_parameters(const SqliteFile& database, RunFolder& run) {
  SqliteStatement query(database, "SELECT name, help FROM orrery_parameters");
  while (query.next()) run.parameter_help[query.text(0)] = query.text(1);
}

void read_histograms(const SqliteFile& database, RunFolder& run) {
  SqliteStatement query(
      database, "SELECT metric, value, count FROM orrery_histograms ORDER BY metric, value");
  while (query.next()) run.histograms[query.text(0)].push_back({query.number(1), query.number(2)});
}

/// Weights the means by their values, or, for a level (which has no extremes), by time.
void merge(SeriesPoint& sum, const SeriesPoint& next) {
  const auto weight = [&next](const SeriesPoint& one) {
    return next.minimum ? one.count : one.end_ticks - one.begin_ticks;
  };
  if (next.mean) {
    const double before = sum.mean ? weight(sum) : 0, now = weight(next);
    if (before + now > 0)
      sum.mean = (sum.mean.value_or(0) * before + *next.mean * now) / (before + now);
    else
      sum.mean = next.mean;
  }
  if (next.minimum) sum.minimum = std::min(sum.minimum.value_or(*next.minimum), *next.minimum);
  if (next.maximum) sum.maximum = std::max(sum.maximum.value_or(*next.maximum), *next.maximum);
  sum.count += next.count;
  sum.end_ticks = next.end_ticks;
}

/// Whether series of levels have a total, the mean of all LPs together; older runs call it mean.
bool has_totals(const SqliteFile& database) {
  SqliteStatement query(
      database, "SELECT count(*) FROM pragma_table_info('orrery_series') WHERE name = 'total'");
  return query.next() && query.whole(0) > 0;
}

void read_one_series(const SqliteFile& database, const std::string& metric, std::uint64_t intervals,
                     const char* mean, RunFolder& run) {
  const std::uint64_t together = (intervals + kMostPoints - 1) / kMostPoints;
  SqliteStatement query(database,
                        fmt::format("SELECT begin_ticks, end_ticks, count, {}, minimum, maximum "
                                    "FROM orrery_series WHERE metric = ? ORDER BY begin_ticks",
                                    mean),
                        {metric});
  std::vector<SeriesPoint>& points = run.series[metric];
  for (std::uint64_t i = 0; query.next(); ++i) {
    const SeriesPoint one{query.number(0),
                          query.number(1),
                          query.number(2),
                          query.number_or_nothing(3),
                          query.number_or_nothing(4),
                          query.number_or_nothing(5)};
    if (i % together == 0)
      points.push_back(one);
    else
      merge(points.back(), one);
  }
}

void read_series(const SqliteFile& database, RunFolder& run) {
  SqliteStatement query(database, "SELECT metric, count(*) FROM orrery_series GROUP BY metric");
  const char* const mean = has_totals(database) ? "coalesce(mean, total)" : "mean";
  while (query.next()) read_one_series(database, query.text(0), query.whole(1), mean, run);
}

/// The rows of a column at one time, or at several neighbouring times.
struct Moment {
  double ticks = 0, rows = 0, mean = 0, mean_square = 0;
};

/// The variance of the times' means, divided by the variance of values within times.
double variance_ratio(const std::vector<Moment>& moments) {
  double rows = 0, sum = 0;
  for (const Moment& one : moments) rows += one.rows, sum += one.rows * one.mean;
  double between = 0, within = 0;
  for (const Moment& one : moments) {
    between += one.rows * (one.mean - sum / rows) * (one.mean - sum / rows);
    within += one.rows * (one.mean_square - one.mean * one.mean);
  }
  const auto times = static_cast<double>(moments.size());
  if (rows <= times || within <= 0) return std::numeric_limits<double>::infinity();
  return (between / (times - 1)) / (within / (rows - times));
}

bool changes(const std::vector<Moment>& moments) {
  const auto [low, high] =
      std::minmax_element(moments.begin(), moments.end(),
                          [](const Moment& a, const Moment& b) { return a.mean < b.mean; });
  return high->mean - low->mean > 1e-9 * std::max(std::fabs(high->mean), std::fabs(low->mean));
}

/// Whether the means lie on a straight line over time.
bool repeats_time(const std::vector<Moment>& moments) {
  const Moment &first = moments.front(), &last = moments.back();
  const double slope = (last.mean - first.mean) / (last.ticks - first.ticks);
  return std::all_of(moments.begin(), moments.end(), [&](const Moment& one) {
    const double expected = first.mean + slope * (one.ticks - first.ticks);
    return std::fabs(one.mean - expected) <= 1e-3 * std::fabs(last.mean - first.mean);
  });
}

/// The times of a table's rows.
struct Times {
  std::string groups;     ///< the SQL expression that is equal for rows of one group
  bool are_looks = true;  ///< rows are samples of the same objects
};

/// Whether one LP samples at equal distances; occurrences come from several LPs or at uneven
/// distances.
bool is_one_observer(const SqliteFile& database, const std::string& table) {
  SqliteStatement query(
      database,
      fmt::format("SELECT min(gap), max(gap), min(lp), max(lp) FROM (SELECT lp, time_ticks "
                  "- lag(time_ticks) OVER (ORDER BY time_ticks) AS gap FROM {})",
                  table));
  return query.next() && query.whole(0) == query.whole(1) && query.whole(2) == query.whole(3);
}

Times times_of(const SqliteFile& database, const std::string& table, std::uint64_t rows) {
  SqliteStatement query(database,
                        fmt::format("SELECT count(*), min(n), max(n), min(t), max(t) FROM (SELECT "
                                    "time_ticks AS t, count(*) AS n FROM {} GROUP BY time_ticks)",
                                    table));
  query.next();
  Times times{"time_ticks", query.whole(1) == query.whole(2)};
  if (query.whole(2) == 1) times.are_looks = is_one_observer(database, table);
  const std::uint64_t most =
      times.are_looks ? kMostTimes : std::clamp(rows / kRowsOfATime, kFewestTimes, kMostTimes);
  if (query.whole(0) <= most) return times;
  const double width =
      std::max(1.0, (query.number(4) - query.number(3) + 1) / static_cast<double>(most));
  times.groups = fmt::format("CAST((time_ticks - {}) / {} AS INTEGER)", query.text(3), width);
  return times;
}

bool has_course(const Column& column, const Times& times, const std::vector<Moment>& moments) {
  if (moments.size() < kFewestTimes || !changes(moments) || repeats_time(moments)) return false;
  if (column.type != "integer" || times.are_looks) return true;
  // Whole numbers without a unit may be names (ports, nodes), whose mean means nothing.
  return !column.unit.empty() && variance_ratio(moments) > kVarianceRatio;
}

std::vector<Moment> read_moments(const SqliteFile& database, const std::string& table,
                                 const std::string& column, const std::string& groups) {
  SqliteStatement query(database,
                        fmt::format("SELECT avg(time_ticks), count({0}), avg({0}), "
                                    "avg(1.0 * {0} * {0}) FROM {1} GROUP BY {2} ORDER BY 1",
                                    column, table, groups));
  std::vector<Moment> moments;
  while (query.next())
    if (query.whole(1) > 0)
      moments.push_back({query.number(0), query.number(1), query.number(2), query.number(3)});
  return moments;
}

void read_courses(const SqliteFile& database, TablePreview& table) {
  if (table.rows < kFewestTimes || table.rows > kMostRowsRead) return;
  const std::string name = sql_name(table.name);
  const Times times = times_of(database, name, table.rows);
  for (const Column& column : table.columns) {
    if (column.name == "time_ticks" || column.name == "lp" || column.type == "text") continue;
    const auto moments = read_moments(database, name, sql_name(column.name), times.groups);
    if (!has_course(column, times, moments)) continue;
    Course& course = table.courses.emplace_back(Course{column.name, column.unit, {}});
    for (const Moment& one : moments) course.points.emplace_back(one.ticks, one.mean);
  }
}

void read_table(const SqliteFile& database, TablePreview& table) {
  const std::string name = sql_name(table.name);
  SqliteStatement rows(database,
                       fmt::format("SELECT max(rowid) FROM {}", name));  // rows are never deleted
  if (rows.next()) table.rows = rows.whole(0);
  SqliteStatement first(database, fmt::format("SELECT * FROM {} LIMIT {}", name, kPreviewRows));
  while (first.next()) {
    std::vector<std::string>& row = table.first_rows.emplace_back();
    for (int i = 0; i < first.columns(); ++i) row.push_back(first.shown(i));
  }
  read_courses(database, table);
}

void read_tables(const SqliteFile& database, RunFolder& run) {
  const std::string others =
      database.has_table("orrery_lp_tables")
          ? "WHERE table_name NOT IN (SELECT table_name FROM orrery_lp_tables) "
          : "";
  SqliteStatement query(
      database, fmt::format("SELECT table_name, column_name, type, unit FROM orrery_columns "
                            "{}ORDER BY rowid",
                            others));
  while (query.next()) {
    if (run.tables.empty() || run.tables.back().name != query.text(0))
      run.tables.push_back({query.text(0), {}, {}, 0, {}});
    run.tables.back().columns.push_back({query.text(1), query.text(3), query.text(2)});
  }
  for (TablePreview& table : run.tables) read_table(database, table);
}

}  // namespace

void read_results(const std::string& path, RunFolder& run) {
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown)) {
    run.remarks.emplace_back(
        "there is no results.sqlite in the folder, so histograms, time series and tables are "
        "missing here");
    return;
  }
  try {
    const SqliteFile database(path, SqliteFile::Use::read);
    read_parameters(database, run);
    read_tables(database, run);
    if (database.has_table("orrery_histograms")) read_histograms(database, run);
    if (database.has_table("orrery_series")) read_series(database, run);
    if (database.has_table("orrery_lp_tables")) read_lp_results(database, run);
  } catch (const std::runtime_error& error) {
    run.remarks.push_back(fmt::format(
        "results.sqlite cannot be read ({}), so some of it is missing here", error.what()));
  }
}

}  // namespace orrery::page
