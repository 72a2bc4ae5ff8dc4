// SPDX-License-Identifier: Apache-2.0
//
// Aligned columns for the terminal: names to the left, figures to the right. If the terminal is too
// narrow, a last column of text is wrapped within its column.
#pragma once

#include <string>
#include <vector>

#include "output/terminal.h"

namespace orrery {

class TextTable {
 public:
  enum class Align { left, right };
  struct Column {
    std::string heading;
    Align align = Align::left;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// Takes one cell for each column.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }

  /// Lines, each indented by two columns and ended by a newline. Columns without content are left
  /// out; headings are shown only if one of them is not empty.
  std::string text(const Terminal& terminal) const;

 private:
  std::vector<std::size_t> widths() const;
  std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
                   unsigned limit) const;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace orrery
