// SPDX-License-Identifier: Apache-2.0
//
// SQLite files: connections and statements that close themselves, and errors as sentences. All
// files of runs and studies are written and read through this header.
//
// A file that is written is private until it is complete. So the journal and synchronous writes,
// which protect a database in use, are off; one transaction spans the file, and the file is
// synchronised once, at its end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace orrery {

class SqliteFile {
 public:
  enum class Use { read, write };
  /// Opens a file to read, or makes a new one that replaces an earlier one. For a file to read, all
  /// functions of this header throw std::runtime_error with SQLite's message; for a file to write,
  /// UsageError.
  SqliteFile(std::string path, Use use);

  bool has_table(const std::string& name) const;
  void execute(const std::string& sql);
  /// Writes everything to the disk and closes the file. No statement may exist.
  void finish();

 private:
  friend class SqliteStatement;
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  void check(int code) const;

  std::string path_;
  Use use_;
  std::unique_ptr<sqlite3, Close> connection_;
};

class SqliteStatement {
 public:
  SqliteStatement(const SqliteFile& file, const std::string& sql,
                  const std::vector<std::string>& values = {});

  /// Values of the parameters, which are numbered from 1. A text must live until the statement has
  /// run.
  void bind(int place, std::nullptr_t nothing);
  void bind(int place, std::int64_t value);
  void bind(int place, double value);
  void bind(int place, std::string_view value);
  /// For a statement without rows. It can run again with other values.
  void run();

  /// Goes to the next row; false behind the last. Columns are numbered from 0.
  bool next();
  int columns() const;
  std::string text(int column) const;
  double number(int column) const;
  std::uint64_t whole(int column) const;
  std::optional<double> number_or_nothing(int column) const;
  /// The cell as text for a table.
  std::string shown(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  const SqliteFile* file_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// A name, quoted for SQL.
std::string sql_name(std::string_view name);

}  // namespace orrery
