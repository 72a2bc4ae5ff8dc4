// SPDX-License-Identifier: Apache-2.0
//
// Pieces of pages: texts stand for themselves, pictures and charts are whole.
#include "page/markup.h"

#include <gtest/gtest.h>

#include "page/chart.h"
#include "page/pictures.h"
#include "page/scale.h"

namespace orrery::page {
namespace {

TEST(Markup, TextsStandForThemselves) {
  EXPECT_EQ(escaped("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(escaped("\x1b[1m\xff"), "\\x1b[1m\\xff");
  EXPECT_EQ(escaped("grün"), "grün");
}

TEST(Markup, NumbersKeepTheirDigits) {
  EXPECT_EQ(value_cell(Json(0.123456789)).markup,
            "<data value=\"0.123456789\" title=\"0.123456789\">0.123457</data>");
  EXPECT_EQ(value_cell(Json()).markup, "-");
  EXPECT_EQ(exact_text(Json(12345678)), "12345678");
  EXPECT_EQ(value_text(Json(true)), "yes");
}

TEST(Markup, Base64) {  // RFC 4648, section 10
  EXPECT_EQ(base64_of(""), "");
  EXPECT_EQ(base64_of("f"), "Zg==");
  EXPECT_EQ(base64_of("fo"), "Zm8=");
  EXPECT_EQ(base64_of("foo"), "Zm9v");
  EXPECT_EQ(base64_of("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64_of("\xff\xfe\xfd"), "//79");
}

TEST(Charts, OfNothingAreNothing) {
  EXPECT_EQ(figure_of({.title = "t"}), "");
  EXPECT_EQ(figure_of({.title = "t", .lines = {{"a", {}}}}), "");
}

TEST(Charts, EscapeAllTexts) {
  const std::string text = figure_of({.title = "<t>",
                                      .x_label = "<x>",
                                      .y_label = "<y>",
                                      .lines = {{"<l>", {{0, 1}, {1, 2}}}},
                                      .bars = {{0, 1, 2, "<b>"}},
                                      .markers = {{0.5, "<m>"}},
                                      .stretches = {{0, 0.5, 1, "<s>"}}});
  for (const char* name : {"t", "x", "y", "l", "b", "m", "s"}) {
    EXPECT_NE(text.find(fmt::format("&lt;{}&gt;", name)), std::string::npos) << name;
    EXPECT_EQ(text.find(fmt::format("<{}>", name)), std::string::npos) << name;
  }
}

TEST(Scales, HaveRoundMarks) {
  const Scale scale = scale_of(0.3, 9.7, 0, 100);
  EXPECT_EQ(scale.low, 0);
  EXPECT_EQ(scale.high, 10);
  EXPECT_EQ(scale.at(5), 50);
  EXPECT_EQ(ticks_of(scale), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  const Scale decades{1, 100, 0, 2, true};
  EXPECT_NEAR(decades.at(10), 1, 1e-12);
  EXPECT_EQ(ticks_of(decades), (std::vector<double>{1, 2, 5, 10, 20, 50, 100}));
  EXPECT_EQ(ticks_of({1, 1000, 0, 3, true}), (std::vector<double>{1, 10, 100, 1000}));
}

TEST(Units, OfTime) {
  EXPECT_EQ(unit_of_span(3 * 86400).name, "d");
  EXPECT_EQ(unit_of_span(90).name, "s");
  EXPECT_EQ(unit_of_span(0.5).name, "ms");
  EXPECT_EQ(unit_of_span(0).name, "s");
}

}  // namespace
}  // namespace orrery::page
