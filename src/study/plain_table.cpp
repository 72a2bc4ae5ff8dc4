// SPDX-License-Identifier: Apache-2.0
#include "study/plain_table.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>

#include "core/text.h"
#include "observe/csv.h"
#include "observe/database.h"
#include "orrery/error.h"

namespace orrery::study {
namespace {

std::string field_of(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return csv_text(*text);
  if (const auto* number = std::get_if<double>(&cell)) return fmt::format("{}", *number);
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return std::to_string(*whole);
  return "";
}

/// Writes a file that no other process opens before it is complete, as in observe/database.h.
class Writer {
 public:
  explicit Writer(const std::string& path) : path_(path) {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    sqlite3* connection = nullptr;
    const int code = sqlite3_open(path.c_str(), &connection);
    connection_.reset(connection);
    check(code);
    execute("PRAGMA journal_mode=OFF; PRAGMA locking_mode=EXCLUSIVE; BEGIN");
  }

  void write(const PlainTable& table) {
    std::string columns, places;
    for (const PlainTable::Column& column : table.columns) {
      const char* comma = columns.empty() ? "" : ", ";
      columns += fmt::format("{}{} {}", comma, sql_name(column.name), column.type);
      places += fmt::format("{}?", comma);
    }
    execute(fmt::format("CREATE TABLE {} ({})", sql_name(table.name), columns));
    sqlite3_stmt* statement = nullptr;
    const std::string sql = fmt::format("INSERT INTO {} VALUES ({})", sql_name(table.name), places);
    check(sqlite3_prepare_v2(connection_.get(), sql.c_str(), -1, &statement, nullptr));
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> owner(statement, sqlite3_finalize);
    for (const std::vector<Cell>& row : table.rows) insert(statement, row);
  }

  void finish() { execute("COMMIT"); }

 private:
  void insert(sqlite3_stmt* statement, const std::vector<Cell>& row) {
    int place = 0;
    for (const Cell& cell : row) {
      ++place;
      if (const auto* text = std::get_if<std::string>(&cell))
        sqlite3_bind_text(statement, place, text->c_str(), -1, SQLITE_TRANSIENT);
      else if (const auto* number = std::get_if<double>(&cell))
        sqlite3_bind_double(statement, place, *number);
      else if (const auto* whole = std::get_if<std::int64_t>(&cell))
        sqlite3_bind_int64(statement, place, *whole);
      else
        sqlite3_bind_null(statement, place);
    }
    check(sqlite3_step(statement));
    check(sqlite3_reset(statement));
  }

  void execute(const std::string& sql) {
    check(sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr));
  }

  void check(int code) const {
    if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return;
    throw UsageError(
        fmt::format("cannot write '{}': {}", path_,
                    connection_ ? sqlite3_errmsg(connection_.get()) : "not enough memory"));
  }

  const std::string path_;
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> connection_{nullptr, sqlite3_close};
};

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
  Writer writer(path);
  for (const PlainTable& table : tables) writer.write(table);
  writer.finish();
}

}  // namespace orrery::study
