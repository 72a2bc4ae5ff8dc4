// SPDX-License-Identifier: Apache-2.0
//
// A chart of time against cost. With a table of machines, each point is a machine at the cost of
// the run there; without it, each point is a configuration at its core time here. Both axes are
// logarithmic, since machines differ by factors. A step line joins the efficient points: each of
// them beats the points to the right of it and above.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "advise/advice.h"
#include "output/number_text.h"
#include "page/markup.h"
#include "page/plot.h"

namespace orrery::advise {
namespace {

using page::escaped;

constexpr double kWidth = 760, kHeight = 460;
constexpr double kLeft = 84, kRight = 150, kTop = 56, kBottom = 62;
constexpr double kMargin = 1.25;  // a factor, at both ends of an axis
constexpr double kLabelHeight = 14, kLabelRoom = 64;
constexpr const char *kPoint = "#0072b2", *kFrontier = "#d55e00", *kOther = "#8a8a8a";

struct Mark {
  std::string name;
  Likely seconds;
  double cost = 0;
  bool is_efficient = false, is_hollow = false;
};

bool beats(const Mark& a, const Mark& b) {
  return (a.seconds.value < b.seconds.value && a.cost <= b.cost) ||
         (a.seconds.value <= b.seconds.value && a.cost < b.cost);
}

std::vector<Mark> marks_of(const Advice& advice) {
  std::vector<Mark> marks;
  if (advice.has_table) {
    for (const Offer& one : advice.offers.offers)
      marks.push_back(
          {one.machine.name, one.seconds, one.price, one.is_efficient, one.is_extrapolated});
    return marks;
  }
  const Findings& found = advice.findings;
  for (const Measured& one : found.measured) {
    if (one.samples.empty()) continue;
    const Likely time = time_of_run(one, found.forecast.events, found.start_seconds);
    const unsigned cores = std::min(advice.cores, one.configuration.executors());
    marks.push_back({one.configuration.name(), time, time.value * cores, false, one.beyond_cores});
  }
  for (Mark& one : marks)
    one.is_efficient = std::none_of(marks.begin(), marks.end(),
                                    [&](const Mark& other) { return beats(other, one); });
  return marks;
}

class Drawing {
 public:
  Drawing(const Advice& advice, std::vector<Mark> marks)
      : advice_(advice),
        marks_(std::move(marks)),
        plot_(page::kFilePlot, kHeight,
              page::svg_head(
                  kWidth, kHeight, kLeft,
                  advice.model + ": time against " + (advice.has_table ? "price" : "core time"))) {
    std::stable_sort(marks_.begin(), marks_.end(), [](const Mark& a, const Mark& b) {
      return std::tie(a.seconds.value, a.cost) < std::tie(b.seconds.value, b.cost);
    });
    set_scales();
  }

  std::string text() {
    axes();
    frontier();
    for (const Mark& mark : marks_) draw(mark);
    labels();
    legend();
    return plot_.text();
  }

 private:
  static double least(const Likely& likely) {
    return std::max(likely.value - likely.half_width.value_or(0), likely.value / 10);
  }

  void set_scales() {
    double left = least(marks_[0].seconds), right = left;
    double low = marks_[0].cost, high = low;
    for (const Mark& mark : marks_) {
      left = std::min(left, least(mark.seconds));
      right = std::max(right, mark.seconds.value + mark.seconds.half_width.value_or(0));
      low = std::min(low, mark.cost);
      high = std::max(high, mark.cost);
    }
    plot_.x = {left / kMargin, right * kMargin, kLeft, kWidth - kRight, true};
    if (low > 0)
      plot_.y = {low / kMargin, high * kMargin, kHeight - kBottom, kTop, true};
    else  // a machine without a price: 0 has no logarithm
      plot_.y = page::scale_of(0, high, kHeight - kBottom, kTop);
  }

  void axes() {
    std::vector<page::AxisMark> costs, times;
    for (const double tick : page::ticks_of(plot_.y))
      costs.push_back({tick, advice_.has_table ? fmt::format("{:.4g}", tick) : span_text(tick)});
    double last = -kWidth;
    for (const double tick : page::ticks_of(plot_.x)) {
      const bool has_room = plot_.x.at(tick) - last >= kLabelRoom;
      if (has_room) last = plot_.x.at(tick);
      times.push_back({tick, has_room ? span_text(tick) : ""});
    }
    const std::string unit = advice_.currency.empty() ? "" : " (" + advice_.currency + ")";
    plot_.vertical_axis(costs, advice_.has_table ? "price" + unit : "core time: time x cores");
    plot_.horizontal_axis(times, "whole run");
  }

  /// Begins at the first point; each point's time holds from its cost to that of the next.
  void frontier() {
    std::string points;
    double cost = 0;
    for (const Mark& mark : marks_) {
      if (!mark.is_efficient) continue;
      const double time = mark.seconds.value;
      points += plot_.point(time, points.empty() ? plot_.y.high : cost);
      cost = mark.cost;
      points += plot_.point(time, cost);
    }
    points += plot_.point(plot_.x.high, cost);
    plot_.put(R"(<polyline points="{}" fill="none" stroke="{}" stroke-width="1.5"/>)", points,
              kFrontier);
  }

  void draw(const Mark& mark) {
    const double x = plot_.x.at(mark.seconds.value), y = plot_.y.at(mark.cost);
    const char* const colour = mark.is_efficient ? kPoint : kOther;
    if (mark.seconds.half_width)
      plot_.put(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="{}"/>)",
                plot_.x.at(least(mark.seconds)), y,
                plot_.x.at(mark.seconds.value + *mark.seconds.half_width), y, colour);
    plot_.put(R"(<circle cx="{:.1f}" cy="{:.1f}" r="5" fill="{}" stroke="{}" stroke-width="2">)"
              R"(<title>{}: {}, {:.4g}</title></circle>)",
              x, y, mark.is_hollow ? "#ffffff" : colour, colour, escaped(mark.name),
              span_text(mark.seconds.value), mark.cost);
  }

  /// Beside the points; a label that would overlap another is moved down.
  void labels() {
    struct Placed {
      double x, y;
    };
    std::vector<Placed> placed;
    for (const Mark& mark : marks_) {
      const double x = plot_.x.at(mark.seconds.value) + 9;
      double y = plot_.y.at(mark.cost) - 7;
      const auto hits = [&](const Placed& other) {
        return std::fabs(other.x - x) < 150 && std::fabs(other.y - y) < kLabelHeight;
      };
      while (std::any_of(placed.begin(), placed.end(), hits)) y += kLabelHeight / 2;
      placed.push_back({x, y});
      plot_.put(R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", x, y, escaped(mark.name));
    }
  }

  void legend() {
    const double y = 42;
    plot_.put(R"(<line x1="{}" y1="{}" x2="{}" y2="{}" stroke="{}" stroke-width="1.5"/>)", kLeft,
              y - 4, kLeft + 24, y - 4, kFrontier);
    plot_.put(R"(<text x="{}" y="{}">efficient frontier</text>)", kLeft + 30, y);
    const char* const hollow =
        advice_.has_table ? "extrapolated to more cores" : "more than there are cores";
    plot_.put(R"(<circle cx="{}" cy="{}" r="4" fill="#ffffff" stroke="{}" stroke-width="2"/>)",
              kLeft + 160, y - 4, kOther);
    plot_.put(R"(<text x="{}" y="{}">{}</text>)", kLeft + 170, y, hollow);
  }

  const Advice& advice_;
  std::vector<Mark> marks_;
  page::Plot plot_;
};

}  // namespace

std::string advice_picture(const Advice& advice) {
  std::vector<Mark> marks = marks_of(advice);
  return marks.empty() ? "" : Drawing(advice, std::move(marks)).text();
}

}  // namespace orrery::advise
