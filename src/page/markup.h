// SPDX-License-Identifier: Apache-2.0
//
// Pieces of HTML and SVG. Every text from a model, a user or a file goes through `escaped`; all
// other strings are markup already.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "page/json_place.h"

namespace orrery::page {

/// Escapes a text for markup, also between quotes. Control characters and bytes that are not UTF-8
/// become "\x1b" and the like.
std::string escaped(std::string_view text);

struct Cell {
  std::string markup;
  const char* style = "";  ///< its class; empty: no class
};
Cell text_cell(std::string_view text);    ///< escapes `text`
Cell number_cell(std::string_view text);  ///< escapes `text`, and aligns it to the right
/// A number in few digits; the element's `value` and title have all digits.
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

/// A folded part of the page that the reader can unfold.
std::string folded(std::string_view title, const std::string& markup);

}  // namespace orrery::page
