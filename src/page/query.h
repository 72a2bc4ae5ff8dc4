// SPDX-License-Identifier: Apache-2.0
//
// Reads an SQLite database that another program wrote: opened read-only, its errors are sentences.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace orrery::page {

class ReadDatabase {
 public:
  /// All functions here throw std::runtime_error.
  explicit ReadDatabase(const std::string& path);
  ~ReadDatabase();
  ReadDatabase(const ReadDatabase&) = delete;
  ReadDatabase& operator=(const ReadDatabase&) = delete;
  bool has_table(const std::string& name) const;

 private:
  friend class Query;
  sqlite3* connection_ = nullptr;
};

/// The rows of a statement, one after the other.
class Query {
 public:
  Query(const ReadDatabase& database, const std::string& sql,
        const std::vector<std::string>& values = {});
  ~Query();
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  bool next();
  int columns() const;
  std::string text(int column) const;
  double number(int column) const;
  std::uint64_t whole(int column) const;
  std::optional<double> number_or_nothing(int column) const;
  /// The cell as text for a table.
  std::string shown(int column) const;

 private:
  const ReadDatabase& database_;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace orrery::page
