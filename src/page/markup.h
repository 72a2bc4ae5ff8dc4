// SPDX-License-Identifier: Apache-2.0
//
// Pieces of HTML and SVG. Every text that a model, a user or a file wrote goes through `escaped`;
// what is not called so is markup already.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "page/json_place.h"

namespace orrery::page {

/// A text so that it stands for itself within markup, also between quotes. What is no text at all
/// (control characters, bytes that are not UTF-8) is shown as "\x1b".
std::string escaped(std::string_view text);

struct Cell {
  std::string markup;
  const char* style = "";  ///< its class; empty: none
};
Cell text_cell(std::string_view text);    ///< is escaped
Cell number_cell(std::string_view text);  ///< is escaped, and set to the right
/// A number in few digits, with all of them behind it (`value` of the element and its title).
Cell value_cell(const Json& value);

/// A table with headings, within a box that scrolls if it is too wide.
class TableMarkup {
 public:
  explicit TableMarkup(const std::vector<Cell>& headings);
  void add(const std::vector<Cell>& cells);
  bool empty() const { return rows_ == 0; }
  std::string text() const { return text_ + "</tbody></table></div>\n"; }

 private:
  std::string text_;
  unsigned rows_ = 0;
};

/// How an SVG that is a file of its own begins: white, with a title (is escaped) `left` from its
/// edge. "</svg>" ends it.
std::string svg_head(double width, double height, double left, std::string_view title);

/// What is folded until it is wanted.
std::string folded(std::string_view title, const std::string& markup);

}  // namespace orrery::page
