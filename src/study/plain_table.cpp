// SPDX-License-Identifier: Apache-2.0
#include "study/plain_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/text.h"
#include "output/csv.h"
#include "output/sqlite.h"

namespace orrery::study {
namespace {

std::string field_of(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return csv_text(*text);
  if (const auto* number = std::get_if<double>(&cell)) return fmt::format("{}", *number);
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return std::to_string(*whole);
  return "";
}

void write(const PlainTable& table, SqliteFile& file) {
  std::string columns, places;
  for (const PlainTable::Column& column : table.columns) {
    const char* comma = columns.empty() ? "" : ", ";
    columns += fmt::format("{}{} {}", comma, sql_name(column.name), column.type);
    places += fmt::format("{}?", comma);
  }
  file.execute(fmt::format("CREATE TABLE {} ({})", sql_name(table.name), columns));
  SqliteStatement insert(file,
                         fmt::format("INSERT INTO {} VALUES ({})", sql_name(table.name), places));
  for (const std::vector<Cell>& row : table.rows) {
    int place = 0;
    for (const Cell& cell : row) {
      ++place;
      if (const auto* text = std::get_if<std::string>(&cell))
        insert.bind(place, *text);
      else if (const auto* number = std::get_if<double>(&cell))
        insert.bind(place, *number);
      else if (const auto* whole = std::get_if<std::int64_t>(&cell))
        insert.bind(place, *whole);
      else
        insert.bind(place, nullptr);
    }
    insert.run();
  }
}

}  // namespace

void PlainTable::add_column(const std::string& prefix, const std::string& column,
                            const char* type) {
  const auto is_taken = [&](const std::string& wanted) {
    return std::any_of(columns.begin(), columns.end(), [&](const Column& one) {
      return lower_case(one.name) == lower_case(wanted);
    });
  };
  std::string unique = column;
  while (is_taken(unique)) unique = prefix + "." + unique;
  columns.push_back({unique, type});
}

Cell whole_number(std::uint64_t number) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (number > kMost) return std::to_string(number);
  return static_cast<std::int64_t>(number);
}

std::string csv_of(const PlainTable& table) {
  std::string text;
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    text += (i == 0 ? "" : ",") + csv_text(table.columns[i].name);
  text += '\n';
  for (const std::vector<Cell>& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) text += (i == 0 ? "" : ",") + field_of(row[i]);
    text += '\n';
  }
  return text;
}

void write_database(const std::string& path, const std::vector<PlainTable>& tables) {
  SqliteFile file(path, SqliteFile::Use::write);
  for (const PlainTable& table : tables) write(table, file);
  file.finish();
}

}  // namespace orrery::study
