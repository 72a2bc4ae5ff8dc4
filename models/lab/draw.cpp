// SPDX-License-Identifier: Apache-2.0
#include "draw.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace orrery::lab {
namespace {

constexpr double kLength = 110, kMargin = 70;  ///< pixels: of a link, around the picture
constexpr std::size_t kMostLabels = 40;        ///< links that are labelled

using Places = std::vector<Place>;

/// A link, once.
struct Line {
  NodeId from, to;
  const Wire* wire;
};

std::vector<Line> lines_of(const Topology& topology) {
  std::vector<Line> lines;
  for (NodeId id = 0; id < topology.nodes(); ++id)
    for (const Port& port : topology.node(id).ports)
      if (id < port.wire.node) lines.push_back({id, port.wire.node, &port.wire});
  return lines;
}

/// The places of stations, if there is nothing but hosts on one radio channel.
Places given_places(const Topology& topology) {
  if (topology.radios.size() != 1 || !topology.switches.empty()) return {};
  const RadioNode& radio = topology.radios[0];
  if (radio.ports.size() != topology.hosts.size() || !radio.radio.connectivity.empty()) return {};
  Places places(topology.nodes());
  for (std::size_t i = 0; i < radio.ports.size(); ++i)
    places[radio.ports[i].wire.node] = radio.radio.tracks[i].at(0);
  Place least = places[0], most = places[0];
  for (std::size_t i = 0; i < topology.hosts.size(); ++i) {
    least = {std::min(least.x, places[i].x), std::min(least.y, places[i].y)};
    most = {std::max(most.x, places[i].x), std::max(most.y, places[i].y)};
  }
  const double span = std::max({most.x - least.x, most.y - least.y, 1e-3});
  const double scale = kLength * std::ceil(std::sqrt(places.size())) / span;
  for (Place& one : places) one = {(one.x - least.x) * scale, (one.y - least.y) * scale};
  places.back() = {(most.x - least.x) * scale / 2, -kLength / 2};  // the channel's name, above
  return places;
}

/// One step: all nodes move, by `most` at the most.
void relax(Places& places, const std::vector<Line>& lines, double most) {
  Places force(places.size(), Place{0, 0});
  const auto add = [&](std::size_t a, std::size_t b, auto&& strength) {
    const double x = places[a].x - places[b].x, y = places[a].y - places[b].y;
    const double distance = std::max(std::hypot(x, y), 1.0), pull = strength(distance) / distance;
    force[a].x += x * pull, force[a].y += y * pull;
    force[b].x -= x * pull, force[b].y -= y * pull;
  };
  for (std::size_t a = 0; a < places.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      add(a, b, [](double distance) { return kLength * kLength / distance; });
  for (const Line& line : lines)
    add(line.from, line.to, [](double distance) { return -distance * distance / kLength; });
  for (std::size_t i = 0; i < places.size(); ++i) {
    // A weak pull to the middle keeps parts without a link between them together.
    force[i].x -= places[i].x / 10, force[i].y -= places[i].y / 10;
    const double size = std::max(std::hypot(force[i].x, force[i].y), 1e-9);
    const double step = std::min(size, most) / size;
    places[i].x += force[i].x * step, places[i].y += force[i].y * step;
  }
}

Places placed(const Topology& topology, const std::vector<Line>& lines) {
  if (Places given = given_places(topology); !given.empty()) return given;
  const std::size_t count = topology.nodes();
  const double radius = kLength * std::sqrt(static_cast<double>(count)) / 2;
  Places places;
  for (std::size_t i = 0; i < count; ++i) {
    // By the golden angle, so that no two nodes and no neighbours begin at one place.
    const double angle = static_cast<double>(i) * std::numbers::pi * (3 - std::sqrt(5.0));
    const double out =
        radius * std::sqrt((static_cast<double>(i) + 1) / static_cast<double>(count));
    places.push_back({out * std::cos(angle), out * std::sin(angle)});
  }
  const int steps =
      static_cast<int>(std::clamp(1e8 / static_cast<double>(count * count), 40.0, 600.0));
  for (int i = 0; i < steps; ++i)
    relax(places, lines, kLength * (1 - static_cast<double>(i) / steps));
  return places;
}

std::string time_text(std::int64_t ns) {
  if (ns % 1'000'000 == 0 || ns > 100'000'000)
    return fmt::format("{:g} ms", static_cast<double>(ns) / 1e6);
  if (ns >= 1'000) return fmt::format("{:g} µs", static_cast<double>(ns) / 1e3);
  return fmt::format("{} ns", ns);
}

std::string rate_text(std::uint64_t bits) {
  if (bits >= 1'000'000'000) return fmt::format("{:g} Gbit/s", static_cast<double>(bits) / 1e9);
  return fmt::format("{:g} Mbit/s", static_cast<double>(bits) / 1e6);
}

std::string text_of(const Wire& wire) {
  const Phase& phase = wire.phases[0];
  std::string text = time_text(phase.delay_ns);
  if (phase.bits_per_s > 0) text += ", " + rate_text(phase.bits_per_s);
  if (phase.loss > 0) text += fmt::format(", {:g} % lost", phase.loss * 100);
  return text;
}

std::string text_of(const Node& node) {
  std::string text;
  for (std::size_t i = 0; i < node.ports.size(); ++i)
    if (!node.ports[i].address.empty()) text += fmt::format("\neth{} {}", i, node.ports[i].address);
  return text;
}

/// Texts of a topology come from its author; names have letters, digits and '-' only.
std::string escaped(std::string_view text) {
  std::string safe;
  for (const char letter : text) {
    if (letter == '&' || letter == '<' || letter == '>')
      safe += fmt::format("&#{};", static_cast<int>(letter));
    else if (static_cast<unsigned char>(letter) >= ' ' || letter == '\n')
      safe += letter;
  }
  return safe;
}

std::string line_of(const Topology& topology, const Line& line, const Places& places,
                    bool has_label) {
  const bool is_radio = topology.is_radio(line.to) || topology.is_radio(line.from);
  const Place &a = places[line.from], &b = places[line.to];
  std::string text = fmt::format(
      "<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"><title>{}: "
      "{}</title></line>\n",
      is_radio ? "air" : "wire", a.x, a.y, b.x, b.y,
      topology.node(line.from).name + " - " + topology.node(line.to).name, text_of(*line.wire));
  if (has_label && !is_radio)
    text += fmt::format("<text class=\"small\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                        (a.x + b.x) / 2, (a.y + b.y) / 2 - 3, text_of(*line.wire));
  return text;
}

std::string node_of(const Topology& topology, NodeId id, const Place& at) {
  const Node& node = topology.node(id);
  std::string shape;
  if (topology.is_host(id))
    shape = fmt::format("<circle class=\"host\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"13\"", at.x, at.y);
  else if (topology.is_radio(id))
    shape = fmt::format("<circle class=\"radio\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"16\"", at.x, at.y);
  else
    shape = fmt::format(
        "<rect class=\"switch\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"26\" height=\"18\" rx=\"3\"",
        at.x - 13, at.y - 9);
  return fmt::format("{}><title>{}</title></{}>\n<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                     shape, escaped(node.name + text_of(node)),
                     shape.starts_with("<rect") ? "rect" : "circle", at.x, at.y + 28, node.name);
}

}  // namespace

std::vector<Place> places_in_picture(const Topology& topology) {
  return placed(topology, lines_of(topology));
}

std::string draw(const Topology& topology) {
  const std::vector<Line> lines = lines_of(topology);
  const Places places = placed(topology, lines);
  const bool stand_still = !given_places(topology).empty();
  Place least = places[0], most = places[0];
  for (const Place& one : places) {
    least = {std::min(least.x, one.x), std::min(least.y, one.y)};
    most = {std::max(most.x, one.x), std::max(most.y, one.y)};
  }
  const double width = most.x - least.x + 2 * kMargin, height = most.y - least.y + 2 * kMargin;
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"{2:.1f} "
      "{3:.1f} {0:.1f} {1:.1f}\">\n<style>text {{ font: 12px sans-serif; text-anchor: middle; "
      "paint-order: stroke; stroke: white; stroke-width: 3px }} .small "
      "{{ font-size: 9px; fill: #555 }} .wire {{ stroke: #777; stroke-width: 1.5 }} .air {{ "
      "stroke: "
      "#2a8; stroke-dasharray: 4 3 }} .host {{ fill: #6ab0f3; stroke: #1f5f9f }} .switch {{ fill: "
      "#ccc; "
      "stroke: #555 }} .radio {{ fill: #c8f0dc; stroke: #2a8; stroke-dasharray: 4 3 }}</style>\n"
      "<rect x=\"{2:.1f}\" y=\"{3:.1f}\" width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      width, height, least.x - kMargin, least.y - kMargin);
  if (!stand_still)
    for (const Line& line : lines)
      text += line_of(topology, line, places, lines.size() <= kMostLabels);
  for (NodeId id = 0; id < topology.nodes(); ++id) text += node_of(topology, id, places[id]);
  return text + "</svg>\n";
}

}  // namespace orrery::lab
