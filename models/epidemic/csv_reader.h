// SPDX-License-Identifier: Apache-2.0
//
// Plain tables of comma-separated values: a first line that names the columns, then a line a row.
// No quotes and no commas within values, as the files of this model need none. A sentence with file
// and line for everything that is not so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace epidemic {

class CsvReader {
 public:
  /// Throws orrery::UsageError for a file that cannot be read or has other columns than `columns`.
  CsvReader(const std::string& path, const std::vector<std::string_view>& columns);

  /// The next line that is not empty; false at the end.
  bool next();
  std::string_view text(std::size_t column) const { return fields_[column]; }
  /// A number in [minimum, maximum].
  double real(std::size_t column, double minimum, double maximum) const;
  std::uint64_t count(std::size_t column, std::uint64_t maximum) const;

  [[noreturn]] void refuse(const std::string& what) const;

 private:
  bool next_line();
  void split();

  std::string path_, text_;
  std::vector<std::string_view> columns_;
  std::size_t at_ = 0;
  std::uint32_t number_ = 0;
  std::string_view line_;
  std::vector<std::string_view> fields_;
};

}  // namespace epidemic
