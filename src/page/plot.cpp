// SPDX-License-Identifier: Apache-2.0
#include "page/plot.h"

#include "page/markup.h"

namespace orrery::page {

void Plot::vertical_axis(const std::vector<AxisMark>& marks, std::string_view label) {
  for (const AxisMark& mark : marks) {
    put(R"(<line {} x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}"/>)", style_.grid, x.begin,
        y.at(mark.value), x.end, y.at(mark.value));
    put(R"(<text x="{}" y="{:.1f}" text-anchor="end">{}</text>)", x.begin - style_.beside,
        y.at(mark.value) + 4, escaped(mark.text));
  }
  put(R"svg(<text x="{0}" y="{1}" text-anchor="middle" transform="rotate(-90 {0} {1})">{2}</text>)svg",
      style_.y_label, (y.begin + y.end) / 2, escaped(label));
}

void Plot::horizontal_axis(const std::vector<AxisMark>& marks, std::string_view label) {
  put(R"(<line {} x1="{}" y1="{}" x2="{}" y2="{}"/>)", style_.axis, x.begin, y.begin, x.end,
      y.begin);
  for (const AxisMark& mark : marks) {
    const double place = x.at(mark.value);
    put(R"(<line {0} x1="{1:.1f}" y1="{2}" x2="{1:.1f}" y2="{3}"/>)", style_.axis, place, y.begin,
        y.begin + style_.tick);
    if (!mark.text.empty())
      put(R"(<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>)", place,
          y.begin + style_.under, escaped(mark.text));
  }
  put(R"(<text x="{}" y="{}" text-anchor="middle">{}</text>)", (x.begin + x.end) / 2,
      height_ - style_.x_label, escaped(label));
}

std::vector<AxisMark> number_marks(const Scale& scale, double count) {
  const double step = scale.logarithmic ? 0 : step_of(scale, count);
  std::vector<AxisMark> marks;
  for (const double tick : ticks_of(scale, count)) marks.push_back({tick, tick_text(tick, step)});
  return marks;
}

std::string svg_head(double width, double height, double left, std::string_view title) {
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" )"
      R"(font-family="sans-serif" font-size="12">)"
      "\n"
      R"(<rect width="{0}" height="{1}" fill="#ffffff"/>)"
      "\n"
      R"(<text x="{2}" y="24" font-size="15">{3}</text>)"
      "\n",
      width, height, left, escaped(title));
}

}  // namespace orrery::page
