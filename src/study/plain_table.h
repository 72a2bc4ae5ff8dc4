// SPDX-License-Identifier: Apache-2.0
//
// Tables of a study as CSV files and in one SQLite file, made from the same data, so that the two
// cannot differ. Numbers have the fewest digits that read back as the same number.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace orrery::study {

/// std::monostate: no value, an empty field or NULL.
using Cell = std::variant<std::monostate, double, std::int64_t, std::string>;

struct PlainTable {
  struct Column {
    std::string name;
    const char* type;  ///< SQL type; NUMERIC stores texts that are numbers as numbers
  };

  std::string name;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;

  /// Adds a column; if its name is taken (SQL does not distinguish "Load" from "load"), the name
  /// becomes "prefix.name".
  void add_column(const std::string& prefix, const std::string& column, const char* type);
};

/// A whole number, as a text if SQLite cannot hold it.
Cell whole_number(std::uint64_t number);

/// The first line has the headings.
std::string csv_of(const PlainTable& table);

/// Writes a database with these tables. Throws UsageError if it cannot be written.
void write_database(const std::string& path, const std::vector<PlainTable>& tables);

}  // namespace orrery::study
