// SPDX-License-Identifier: Apache-2.0
//
// What may reach a terminal.
#include "core/text.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(Printable, LeavesTextAlone) {
  for (const char* text :
       {"", "a sentence, with\ttabs\nand lines", "5 \u00b5s", "\u65e5\u672c", "\U0001f600"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, WritesOutControlCharacters) {
  EXPECT_EQ(printable("\x1b[31mred\x7f\r"), "\\x1b[31mred\\x7f\\x0d");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");  // a control sequence introducer in one byte
}

TEST(Printable, WritesOutWhatIsNotUtf8) {
  EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(printable("M\xfcnchen"), "M\\xfcnchen");
  EXPECT_EQ(printable("cut \xe2\x82"), "cut \\xe2\\x82");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");
}

TEST(LowerCase, IsForAsciiOnly) {
  EXPECT_EQ(lower_case("TimeWarp-9"), "timewarp-9");
  EXPECT_EQ(lower_case("\u00c4"), "\u00c4");
}

}  // namespace
}  // namespace orrery
