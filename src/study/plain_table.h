// SPDX-License-Identifier: Apache-2.0
//
// Tables of a study as CSV files and in one SQLite file, from one description, so that the two
// cannot say different things. Numbers have the fewest digits that read back as the same number.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace orrery::study {

/// The first: nothing, an empty field or NULL.
using Cell = std::variant<std::monostate, double, std::int64_t, std::string>;

struct PlainTable {
  struct Column {
    std::string name;
    const char* type;  ///< of SQL; NUMERIC takes texts that are numbers as such
  };

  std::string name;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;

  /// Adds a column; where its name is taken (SQL does not tell "Load" from "load"), it is
  /// "prefix.name".
  void add_column(const std::string& prefix, const std::string& column, const char* type);
};

/// A whole number, or the text of one that SQLite cannot hold.
Cell whole_number(std::uint64_t number);

/// With a line of headings.
std::string csv_of(const PlainTable& table);

/// Makes a database with these tables. Throws UsageError if it cannot be written.
void write_database(const std::string& path, const std::vector<PlainTable>& tables);

}  // namespace orrery::study
