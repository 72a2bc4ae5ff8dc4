// SPDX-License-Identifier: Apache-2.0
#include "output/sqlite.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "core/file_output.h"
#include "orrery/error.h"

namespace orrery {
namespace {

void synchronise(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool safe = descriptor >= 0 && orrery::synchronise(descriptor);
  const int error = errno;
  if (descriptor >= 0) close(descriptor);
  if (!safe) throw UsageError(fmt::format("cannot write '{}': {}", path, std::strerror(error)));
}

}  // namespace

void SqliteFile::Close::operator()(sqlite3* connection) const {
  sqlite3_close(connection);
}

/// locking_mode: no other process opens the file before it is complete, and some network folders
/// have no locks.
SqliteFile::SqliteFile(std::string path, Use use) : path_(std::move(path)), use_(use) {
  std::error_code ignored;
  if (use == Use::write) std::filesystem::remove(path_, ignored);
  sqlite3* connection = nullptr;
  const int flags =
      use == Use::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int code = sqlite3_open_v2(path_.c_str(), &connection, flags, nullptr);
  connection_.reset(connection);
  check(code);
  if (use == Use::write)
    execute(
        "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
        "PRAGMA cache_size=-16384; BEGIN");
}

bool SqliteFile::has_table(const std::string& name) const {
  return SqliteStatement(*this, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?",
                         {name})
      .next();
}

void SqliteFile::execute(const std::string& sql) {
  check(sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr));
}

void SqliteFile::finish() {
  execute("COMMIT");
  check(sqlite3_close(connection_.get()));
  connection_.release();
  synchronise(path_);
}

void SqliteFile::check(int code) const {
  if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return;
  const char* why = connection_ ? sqlite3_errmsg(connection_.get()) : "not enough memory";
  if (use_ == Use::read) throw std::runtime_error(why);
  if (code == SQLITE_FULL) {
    throw UsageError(fmt::format(
        "cannot write '{}': the disk is full; free some space or choose another folder with --out",
        path_));
  }
  throw UsageError(fmt::format("cannot write '{}': {}", path_, why));
}

void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

SqliteStatement::SqliteStatement(const SqliteFile& file, const std::string& sql,
                                 const std::vector<std::string>& values)
    : file_(&file) {
  sqlite3_stmt* statement = nullptr;
  file.check(sqlite3_prepare_v2(file.connection_.get(), sql.c_str(), -1, &statement, nullptr));
  statement_.reset(statement);
  int place = 0;
  for (const std::string& value : values)
    sqlite3_bind_text(statement, ++place, value.c_str(), -1, SQLITE_TRANSIENT);
}

void SqliteStatement::bind(int place, std::nullptr_t) {
  sqlite3_bind_null(statement_.get(), place);
}

void SqliteStatement::bind(int place, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), place, value);
}

void SqliteStatement::bind(int place, double value) {
  sqlite3_bind_double(statement_.get(), place, value);
}

void SqliteStatement::bind(int place, std::string_view value) {
  sqlite3_bind_text(statement_.get(), place, value.data(), static_cast<int>(value.size()),
                    SQLITE_STATIC);
}

void SqliteStatement::run() {
  next();
  sqlite3_reset(statement_.get());
}

bool SqliteStatement::next() {
  const int code = sqlite3_step(statement_.get());
  file_->check(code);
  return code == SQLITE_ROW;
}

int SqliteStatement::columns() const {
  return sqlite3_column_count(statement_.get());
}

std::string SqliteStatement::text(int column) const {
  const unsigned char* bytes = sqlite3_column_text(statement_.get(), column);
  return bytes == nullptr ? "" : reinterpret_cast<const char*>(bytes);
}

double SqliteStatement::number(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

std::uint64_t SqliteStatement::whole(int column) const {
  return static_cast<std::uint64_t>(sqlite3_column_int64(statement_.get(), column));
}

std::optional<double> SqliteStatement::number_or_nothing(int column) const {
  if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return std::nullopt;
  return number(column);
}

std::string SqliteStatement::shown(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_FLOAT) return text(column);
  return fmt::format("{:.6g}", number(column));
}

std::string sql_name(std::string_view name) {
  std::string text(1, '"');
  for (const char c : name) text.append(c == '"' ? 2 : 1, c);
  text += '"';
  return text;
}

}  // namespace orrery
