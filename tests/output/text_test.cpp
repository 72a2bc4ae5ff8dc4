// SPDX-License-Identifier: Apache-2.0
//
// Numbers, tables and progress as they are shown.
#include <gtest/gtest.h>

#include "output/number_text.h"
#include "output/progress.h"
#include "output/terminal.h"
#include "output/text_table.h"

namespace orrery {
namespace {

TEST(NumberText, GroupsThousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1'000), "1,000");
  EXPECT_EQ(grouped(18'446'744'073'709'551'615u), "18,446,744,073,709,551,615");
}

TEST(NumberText, KeepsSixDigits) {
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(0.0123456789), "0.0123457");
  EXPECT_EQ(number_text(12.5), "12.5");
  EXPECT_EQ(number_text(-4228.6), "-4,228.6");
  EXPECT_EQ(number_text(1234567.8), "1,234,568");
  EXPECT_EQ(number_text(1e20), "1e+20");
  EXPECT_EQ(number_text(1.0 / 0.0), "inf");
}

TEST(NumberText, ShortensToThreeDigits) {
  EXPECT_EQ(short_number(812), "812");
  EXPECT_EQ(short_number(999.7), "1.00 k");
  EXPECT_EQ(short_number(3'541'233), "3.54 M");
  EXPECT_EQ(short_number(12'100), "12.1 k");
  EXPECT_EQ(short_number(0), "0");
}

TEST(NumberText, WritesBytes) {
  EXPECT_EQ(bytes_text(512), "512 B");
  EXPECT_EQ(bytes_text(117'440'512), "112 MiB");
}

TEST(NumberText, WritesSpans) {
  EXPECT_EQ(span_text(0.0123), "12.3 ms");
  EXPECT_EQ(span_text(2.314), "2.31 s");
  EXPECT_EQ(span_text(59.96), "1 min 00 s");
  EXPECT_EQ(span_text(3'599.9), "1 h 00 min");
  EXPECT_EQ(span_text(7'512), "2 h 05 min");
  EXPECT_EQ(span_text(1e13), "forever");
  EXPECT_EQ(pace_text(144), "2.4 min/s");
  EXPECT_EQ(pace_text(0), "0 s/s");
}

TEST(NumberText, NearlyAllIsNotAll) {
  EXPECT_EQ(percent_text(1), "100.0 %");
  EXPECT_EQ(percent_text(0.99999), "99.9 %");
}

TEST(TextTable, AlignsAndLeavesOutEmptyColumns) {
  TextTable table({{"name"}, {"value", TextTable::Align::right}, {"unit"}, {"meaning"}});
  table.add({"a", "1", "", "first"});
  table.add({"long", "1,000", "", "second"});
  EXPECT_EQ(table.text(Terminal{}),
            "  name  value  meaning\n"
            "  a         1  first\n"
            "  long  1,000  second\n");
}

TEST(TextTable, WrapsTheLastColumnUnderItself) {
  TextTable table({{"name"}, {"meaning"}});
  table.add({"a", "words that do not fit into so narrow a terminal"});
  Terminal terminal;
  terminal.width = 40;
  EXPECT_EQ(table.text(terminal),
            "  name  meaning\n"
            "  a     words that do not fit into so\n"
            "        narrow a terminal\n");
}

TEST(Progress, BarFillsInEighths) {
  EXPECT_EQ(bar_text(0, 4, false), "....");
  EXPECT_EQ(bar_text(0.5, 4, false), "##..");
  EXPECT_EQ(bar_text(1, 4, true), "████");
  EXPECT_EQ(bar_text(0.375, 4, true), "█▌··");
}

TEST(Progress, SaysShareRatesAndTimeLeft) {
  ProgressMeter meter(100);
  meter.add({1, 25, 2'000'000, 2'500'000, 117'440'512});
  EXPECT_EQ(meter.line(Terminal{}), " 25 %  2.00 M ev/s  25 s/s  eff 80 %  112 MiB  3 s left");
}

TEST(Progress, NamesTheEngineOfTheMoment) {
  ProgressMeter meter(100);
  meter.add({1, 25, 2'000'000, 2'500'000, 117'440'512, "timewarp x2"});
  EXPECT_EQ(meter.line(Terminal{}),
            " 25 %  timewarp x2  2.00 M ev/s  25 s/s  eff 80 %  112 MiB  3 s left");
  ProgressMeter in_order(100);
  in_order.add({1, 25, 2'000'000, 2'000'000, 117'440'512, "sequential"});
  EXPECT_EQ(in_order.line(Terminal{}), " 25 %  sequential  2.00 M ev/s  25 s/s  112 MiB  3 s left");
}

TEST(Progress, StaysWithinTheTerminal) {
  ProgressMeter meter(100);
  meter.add({1, 25, 2'000'000, 2'500'000, 117'440'512});
  for (const bool utf8 : {false, true}) {
    for (unsigned width = 10; width < 160; ++width) {
      Terminal terminal{true, false, utf8, width};
      EXPECT_LT(display_width(meter.line(terminal)), width);
    }
  }
}

TEST(Progress, WithoutMovementThereIsNoForecast) {
  ProgressMeter meter(100);
  meter.add({1, 0, 0, 0, 0});
  EXPECT_EQ(meter.line(Terminal{}).find("left"), std::string::npos);
}

}  // namespace
}  // namespace orrery
