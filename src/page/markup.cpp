// SPDX-License-Identifier: Apache-2.0
#include "page/markup.h"

#include "core/text.h"

namespace orrery::page {
namespace {

std::string attribute(std::string_view style) {
  return style.empty() ? "" : fmt::format(" class=\"{}\"", style);
}

std::string row_of(const std::vector<Cell>& cells, const char* tag) {
  std::string text = "<tr>";
  for (const Cell& cell : cells)
    text += fmt::format("<{0}{1}>{2}</{0}>", tag, attribute(cell.style), cell.markup);
  return text + "</tr>\n";
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

Cell text_cell(std::string_view text) {
  return {escaped(text)};
}

Cell number_cell(std::string_view text) {
  return {escaped(text), "n"};
}

Cell value_cell(const Json& value) {
  if (!value.is_number()) return number_cell(value_text(value));
  return {fmt::format("<data value=\"{0}\" title=\"{0}\">{1}</data>", value.dump(),
                      escaped(value_text(value))),
          "n"};
}

TableMarkup::TableMarkup(const std::vector<Cell>& headings) {
  text_ = "<div class=\"wide\"><table><thead>" + row_of(headings, "th") + "</thead><tbody>\n";
}

void TableMarkup::add(const std::vector<Cell>& cells) {
  text_ += row_of(cells, "td");
  ++rows_;
}

std::string folded(std::string_view title, const std::string& markup) {
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", escaped(title), markup);
}

}  // namespace orrery::page
