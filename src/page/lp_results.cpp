// SPDX-License-Identifier: Apache-2.0
#include "page/lp_results.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/lp_text.h"

namespace orrery::page {
namespace {

constexpr std::uint64_t kMostLpBars = 200, kMostRows = 32, kMostColumns = 80, kMostHighest = 9;

LpId lp_of(const SqliteStatement& query, int column) {
  return static_cast<LpId>(query.whole(column));
}

std::string range_text(const SqliteStatement& query) {
  const LpId first = lp_of(query, 0), last = lp_of(query, 1);
  return first == last ? lp_text(first, query.text(2)) : fmt::format("LPs {} to {}", first, last);
}

/// Where each value is 1, such as in a metric that counts trips, the means say nothing.
std::string shown_figure(const SqliteFile& database, const std::string& table) {
  SqliteStatement query(database, fmt::format("SELECT min(mean) = max(mean) FROM {}", table));
  return query.next() && query.whole(0) == 1 ? "count" : "mean";
}

/// Rows of a table are in the order of their LPs, so their numbers give groups of neighbours.
void read_bars(const SqliteFile& database, const std::string& table, OfLps& of) {
  SqliteStatement query(database,
                        fmt::format("SELECT min(lp), max(lp), max(name), avg({}) FROM {} GROUP BY "
                                    "(rowid - 1) * {} / {} ORDER BY 1",
                                    of.figure, table, std::min(of.lps, kMostLpBars), of.lps));
  while (query.next()) of.bars.push_back({range_text(query), query.number_or_nothing(3)});
}

/// Returns the numbers of the LPs.
std::vector<LpId> read_highest(const SqliteFile& database, const std::string& table, OfLps& of) {
  SqliteStatement query(database,
                        fmt::format("SELECT lp, name, count, mean, deviation, minimum, maximum "
                                    "FROM {} ORDER BY {} DESC, lp LIMIT {}",
                                    table, of.figure, kMostHighest));
  std::vector<LpId> lps;
  while (query.next()) {
    lps.push_back(lp_of(query, 0));
    of.highest.push_back({lp_text(lps.back(), query.text(1)), query.number(2),
                          query.number_or_nothing(3), query.number_or_nothing(4),
                          query.number_or_nothing(5), query.number_or_nothing(6)});
  }
  return lps;
}

/// The shape of a table of series: all its LPs have the same intervals.
struct Shape {
  std::string table;  ///< quoted
  std::uint64_t lps = 0, intervals = 0;
  std::string mean;  ///< the expression for the figure of several rows
};

Shape shape_of(const SqliteFile& database, const std::string& name, OfLps& of) {
  Shape shape{sql_name(name), 0, 0, "avg(mean)"};
  SqliteStatement sums(database, "SELECT count(*) FROM pragma_table_info(?) WHERE name = 'sum'",
                       {name});
  if (of.figure == "count")
    shape.mean = "avg(count)";
  else if (sums.next() && sums.whole(0) > 0)
    shape.mean = "sum(sum) / nullif(sum(count), 0)";
  SqliteStatement query(database,
                        fmt::format("SELECT count(*), count(DISTINCT lp), min(begin_ticks), "
                                    "max(end_ticks) FROM {}",
                                    shape.table));
  if (!query.next() || query.whole(1) == 0) return shape;
  shape.lps = query.whole(1);
  shape.intervals = query.whole(0) / shape.lps;
  of.begin_ticks = query.number(2);
  of.end_ticks = query.number(3);
  return shape;
}

void read_map(const SqliteFile& database, const Shape& shape, OfLps& of) {
  const std::uint64_t rows = std::min(shape.lps, kMostRows);
  of.columns = std::min(shape.intervals, kMostColumns);
  const std::string row =
      fmt::format("(rowid - 1) / {} * {} / {}", shape.intervals, rows, shape.lps);
  SqliteStatement names(database,
                        fmt::format("SELECT min(lp), max(lp), max(name) FROM {} GROUP BY {} "
                                    "ORDER BY 1",
                                    shape.table, row));
  while (names.next()) of.rows.push_back(range_text(names));
  SqliteStatement query(
      database,
      fmt::format("SELECT {} AS place, (rowid - 1) % {} * {} / {} AS time, {} FROM {} "
                  "GROUP BY place, time",
                  row, shape.intervals, of.columns, shape.intervals, shape.mean, shape.table));
  while (query.next())
    if (const auto mean = query.number_or_nothing(2))
      of.cells.push_back({query.whole(0), query.whole(1), *mean});
}

void read_lp_courses(const SqliteFile& database, const Shape& shape, const std::vector<LpId>& lps,
                     OfLps& of) {
  const std::uint64_t points = std::min(shape.intervals, kMostColumns);
  for (std::size_t i = 0; i < lps.size(); ++i) {
    SqliteStatement query(
        database,
        fmt::format("SELECT min(begin_ticks), max(end_ticks), sum(count), {} FROM {} "
                    "WHERE lp = {} GROUP BY (rowid - 1) % {} * {} / {} ORDER BY 1",
                    shape.mean, shape.table, lps[i], shape.intervals, points, shape.intervals));
    auto& course = of.courses.emplace_back(of.highest[i].text, std::vector<SeriesPoint>());
    while (query.next())
      course.second.push_back(
          {query.number(0), query.number(1), query.number(2), query.number_or_nothing(3), {}, {}});
  }
}

std::uint64_t rows_of(const SqliteFile& database, const std::string& table) {
  SqliteStatement query(database, fmt::format("SELECT max(rowid) FROM {}", table));
  return query.next() ? query.whole(0) : 0;
}

}  // namespace

void read_lp_results(const SqliteFile& database, RunFolder& run) {
  SqliteStatement query(database,
                        "SELECT a.metric, a.table_name, coalesce(b.table_name, '') "
                        "FROM orrery_lp_tables a LEFT JOIN orrery_lp_tables b "
                        "ON a.metric = b.metric AND b.kind = 'series' WHERE a.kind = 'figures'");
  while (query.next()) {
    OfLps& of = run.of_lps[query.text(0)];
    const std::string table = sql_name(query.text(1));
    of.lps = rows_of(database, table);
    if (of.lps == 0) continue;
    of.figure = shown_figure(database, table);
    read_bars(database, table, of);
    const std::vector<LpId> highest = read_highest(database, table, of);
    if (query.text(2).empty()) continue;
    const Shape shape = shape_of(database, query.text(2), of);
    if (shape.intervals == 0) continue;
    read_map(database, shape, of);
    read_lp_courses(database, shape, highest, of);
  }
}

}  // namespace orrery::page
