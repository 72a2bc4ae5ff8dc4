// SPDX-License-Identifier: Apache-2.0
//
// Reads plain tables of comma-separated values: a first line with the names of the columns, then
// one line for each row. Quotes and commas within values are not supported, as the files of this
// model need none. Errors name the file and the line.
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

  /// Goes to the next line that is not empty; returns false at the end.
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
