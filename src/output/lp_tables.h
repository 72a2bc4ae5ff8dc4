// SPDX-License-Identifier: Apache-2.0
//
// Tables in which a row is about one LP: the figures and the time series of --record, and the names
// of the LPs that have emitted rows. The CSV files and the database show the same tables. Rows are
// made while a file is written, since there may be ten million.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "orrery/model.h"
#include "run/engine.h"

namespace orrery {

/// nullptr: no value, such as a mean of nothing.
using LpCell = std::variant<std::nullptr_t, std::int64_t, double, std::string_view>;

struct LpResultTable {
  std::string name, metric;  ///< of a table of names, no metric
  std::string kind;          ///< "figures", "series" or "names"
  std::vector<Column> columns;
  using Visit = std::function<void(std::span<const LpCell>)>;
  std::function<void(const Visit&)> for_each_row;
  bool is_empty = false;  ///< of a table of names: no LP has one
};

/// "lp_wait", "lp_wait_series"
std::string lp_table_name(const Metric& metric);
std::string lp_series_name(const Metric& metric);

/// The tables of all recordings. Model and result must outlive them.
std::vector<LpResultTable> lp_tables(const Model& model, const RunResult& result);
/// The table of names, sorted by LP.
LpResultTable lp_name_table(std::vector<std::pair<LpId, std::string>> names);

}  // namespace orrery
