// SPDX-License-Identifier: Apache-2.0
#include "page/query.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <stdexcept>

namespace orrery::page {

ReadDatabase::ReadDatabase(const std::string& path) {
  const int code = sqlite3_open_v2(path.c_str(), &connection_, SQLITE_OPEN_READONLY, nullptr);
  if (code == SQLITE_OK) return;
  const std::string why = connection_ != nullptr ? sqlite3_errmsg(connection_) : "no memory";
  sqlite3_close(connection_);
  throw std::runtime_error(why);
}

ReadDatabase::~ReadDatabase() {
  sqlite3_close(connection_);
}

bool ReadDatabase::has_table(const std::string& name) const {
  Query query(*this, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", {name});
  return query.next();
}

Query::Query(const ReadDatabase& database, const std::string& sql,
             const std::vector<std::string>& values)
    : database_(database) {
  if (sqlite3_prepare_v2(database.connection_, sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK)
    throw std::runtime_error(sqlite3_errmsg(database.connection_));
  int place = 0;
  for (const std::string& value : values)
    sqlite3_bind_text(statement_, ++place, value.c_str(), -1, SQLITE_TRANSIENT);
}

Query::~Query() {
  sqlite3_finalize(statement_);
}

bool Query::next() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) throw std::runtime_error(sqlite3_errmsg(database_.connection_));
  return false;
}

int Query::columns() const {
  return sqlite3_column_count(statement_);
}

std::string Query::text(int column) const {
  const unsigned char* bytes = sqlite3_column_text(statement_, column);
  return bytes == nullptr ? "" : reinterpret_cast<const char*>(bytes);
}

double Query::number(int column) const {
  return sqlite3_column_double(statement_, column);
}

std::uint64_t Query::whole(int column) const {
  return static_cast<std::uint64_t>(sqlite3_column_int64(statement_, column));
}

std::optional<double> Query::number_or_nothing(int column) const {
  if (sqlite3_column_type(statement_, column) == SQLITE_NULL) return std::nullopt;
  return number(column);
}

std::string Query::shown(int column) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_FLOAT) return text(column);
  return fmt::format("{:.6g}", number(column));
}

}  // namespace orrery::page
