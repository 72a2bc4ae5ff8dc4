// SPDX-License-Identifier: Apache-2.0
#include "output/text_table.h"

#include <algorithm>

namespace orrery {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowest = 20;  // a column narrower than this is not worth wrapping

/// Breaks a text at spaces into pieces of at most `width` columns (longer words stay whole).
std::vector<std::string> wrap(const std::string& text, std::size_t width) {
  std::vector<std::string> lines{""};
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    std::string& last = lines.back();
    if (!last.empty() && display_width(last) + 1 + display_width(word) > width)
      lines.push_back(word);
    else
      last += (last.empty() ? "" : " ") + word;
    at = end + 1;
  }
  return lines;
}

std::string without_trailing_spaces(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace

/// Zero for a column without content.
std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < widths.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i]));
  for (std::size_t i = 0; i < widths.size(); ++i)
    if (widths[i] > 0) widths[i] = std::max(widths[i], display_width(columns_[i].heading));
  return widths;
}

/// `limit`: columns of the terminal, 0 for no limit.
std::string TextTable::line(const std::vector<std::string>& cells,
                            const std::vector<std::size_t>& widths, unsigned limit) const {
  std::string text(kIndent, ' ');
  std::size_t column = kIndent;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (widths[i] == 0) continue;
    if (i + 1 == cells.size() && columns_[i].align == Align::left) {
      const bool wraps = limit > column + kNarrowest;
      const auto pieces = wraps ? wrap(cells[i], limit - column) : std::vector{cells[i]};
      for (std::size_t k = 0; k < pieces.size(); ++k)
        text += (k == 0 ? "" : "\n" + std::string(column, ' ')) + pieces[k];
      break;
    }
    const std::string padding(widths[i] - display_width(cells[i]), ' ');
    text += columns_[i].align == Align::left ? cells[i] + padding : padding + cells[i];
    text += std::string(kGap, ' ');
    column += widths[i] + kGap;
  }
  return without_trailing_spaces(std::move(text));
}

std::string TextTable::text(const Terminal& terminal) const {
  const auto width = widths();
  std::string text;
  std::vector<std::string> headings;
  for (const Column& column : columns_) headings.push_back(column.heading);
  const bool headed = std::any_of(headings.begin(), headings.end(),
                                  [](const std::string& heading) { return !heading.empty(); });
  if (headed && !rows_.empty()) text += terminal.faint(line(headings, width, 0)) + "\n";
  for (const auto& row : rows_) text += line(row, width, terminal.width) + "\n";
  return text;
}

}  // namespace orrery
