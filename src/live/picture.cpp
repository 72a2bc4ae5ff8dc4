// SPDX-License-Identifier: Apache-2.0
#include "live/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "output/number_text.h"
#include "page/markup.h"

namespace orrery::live {
namespace {

using Node = LivePicture::Node;
using Line = LivePicture::Line;

constexpr double kMargin = 40;
constexpr std::size_t kMostText = 200, kMostRows = 256;

/// Without control characters, and not too long.
std::string text_of(std::string_view text) {
  std::string clean;
  for (const char letter : text.substr(0, kMostText))
    clean += static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
  return page::escaped(clean);
}

/// The class of a line's colour, from nothing (0) to its capacity or the largest rate (3).
int heat_of(double share) {
  return share <= 0 ? 0 : share < 0.1 ? 1 : share < 0.6 ? 2 : 3;
}

std::string line_markup(const Line& line, const Node& from, const Node& to, double rate,
                        double most) {
  const double share = line.capacity > 0 ? rate / line.capacity : most > 0 ? rate / most : 0;
  std::string text = text_of(line.text);
  if (line.is_down) {
    text += ": down";
  } else if (line.capacity > 0) {
    text += fmt::format(": {} of its capacity", percent_text(share));
  }
  // The two directions of a link lie beside each other.
  const double x = to.x - from.x, y = to.y - from.y, length = std::max(std::hypot(x, y), 1e-9);
  const double side_x = -y / length * 2.5, side_y = x / length * 2.5;
  return fmt::format(
      "<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"><title>{}</title>"
      "</line>\n",
      line.is_down ? "down" : fmt::format("l{}", heat_of(share)), from.x + side_x, from.y + side_y,
      to.x + side_x, to.y + side_y, text);
}

std::string node_markup(const Node& node) {
  const std::string title =
      text_of(node.name) + (node.text.empty() ? "" : ": " + text_of(node.text));
  const std::string shape =
      node.shape == LivePicture::Shape::circle
          ? fmt::format("<circle class=\"node\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"11\">", node.x,
                        node.y)
          : fmt::format(
                "<rect class=\"node\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"24\" height=\"16\">",
                node.x - 12, node.y - 8);
  return fmt::format("{0}<title>{1}</title>{2}\n<text x=\"{3:.1f}\" y=\"{4:.1f}\">{5}</text>\n",
                     shape, title,
                     node.shape == LivePicture::Shape::circle ? "</circle>" : "</rect>", node.x,
                     node.y + 25, text_of(node.name));
}

/// What nodes say, as a table.
std::string table_markup(const std::vector<Node>& nodes) {
  std::string rows;
  std::size_t count = 0;
  for (const Node& node : nodes)
    if (!node.text.empty() && ++count <= kMostRows)
      rows +=
          fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", text_of(node.name), text_of(node.text));
  return rows.empty() ? "" : "<table>\n" + rows + "</table>\n";
}

}  // namespace

std::string PictureMarkup::of(const LivePicture& picture, double reached_seconds) {
  if (picture.nodes.empty()) return "";
  const double seconds = std::max(reached_seconds - reached_before_, 1e-9);
  carried_before_.resize(picture.lines.size());
  std::vector<double> rates;
  for (std::size_t i = 0; i < picture.lines.size(); ++i)
    rates.push_back((picture.lines[i].carried - carried_before_[i]) / seconds);
  const double most = rates.empty() ? 0 : *std::max_element(rates.begin(), rates.end());
  const auto [left, right] = std::minmax_element(picture.nodes.begin(), picture.nodes.end(),
                                                 [](auto& a, auto& b) { return a.x < b.x; });
  const auto [top, bottom] = std::minmax_element(picture.nodes.begin(), picture.nodes.end(),
                                                 [](auto& a, auto& b) { return a.y < b.y; });
  std::string text = fmt::format(
      "<h2>Now</h2>\n<p class=\"small\">At {}. Lines have the colour of their load since the last "
      "look; point at a line or a node for its state.</p>\n<svg role=\"img\" viewBox=\"{:.1f} "
      "{:.1f} "
      "{:.1f} {:.1f}\">\n",
      rounded_time_text(reached_seconds), left->x - kMargin, top->y - kMargin,
      right->x - left->x + 2 * kMargin, bottom->y - top->y + 2 * kMargin);
  for (std::size_t i = 0; i < picture.lines.size(); ++i) {
    const Line& line = picture.lines[i];
    text +=
        line_markup(line, picture.nodes.at(line.from), picture.nodes.at(line.to), rates[i], most);
    carried_before_[i] = line.carried;
  }
  reached_before_ = reached_seconds;
  for (const Node& node : picture.nodes) text += node_markup(node);
  return text + "</svg>\n" + table_markup(picture.nodes);
}

}  // namespace orrery::live
