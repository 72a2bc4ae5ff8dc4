// SPDX-License-Identifier: Apache-2.0
//
// A model's picture as markup: loads are those since the last picture, and no text can leave its
// element.
#include "live/picture.h"

#include <gtest/gtest.h>

#include <string>

namespace orrery::live {
namespace {

LivePicture two_nodes(double carried) {
  LivePicture picture;
  picture.nodes = {{"a", 0, 0, LivePicture::Shape::circle, "last\x1b[31m <b>line</b>"},
                   {"</title><script>alert(1)</script>", 100, 0, LivePicture::Shape::box}};
  picture.lines = {{0, 1, carried, 1000, "a to b"}, {1, 0, 0, 0, "b to a", true}};
  return picture;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Picture, AModelWithoutNodesHasNone) {
  EXPECT_EQ(PictureMarkup().of({}, 1), "");
}

TEST(Picture, TheLoadIsThatSinceTheLastPicture) {
  PictureMarkup markup;
  EXPECT_TRUE(has(markup.of(two_nodes(500), 1), "a to b: 50.0 % of its capacity"));
  EXPECT_TRUE(has(markup.of(two_nodes(700), 2), "a to b: 20.0 % of its capacity"));
  EXPECT_TRUE(has(markup.of(two_nodes(700), 3), "class=\"l0\""));
}

TEST(Picture, ALineThatIsDownIsMarked) {
  const std::string text = PictureMarkup().of(two_nodes(0), 1);
  EXPECT_TRUE(has(text, "class=\"down\"") && has(text, "b to a: down"));
}

TEST(Picture, TextsStayInTheirElements) {
  const std::string text = PictureMarkup().of(two_nodes(0), 1);
  EXPECT_FALSE(has(text, "<script") || has(text, "<b>") || has(text, "\x1b"));
  EXPECT_TRUE(has(text, "&lt;b&gt;line"));
}

}  // namespace
}  // namespace orrery::live
