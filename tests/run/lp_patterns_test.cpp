// SPDX-License-Identifier: Apache-2.0
//
// LPs by number and by name on the command line, and which names are possible.
#include "run/options/lp_patterns.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "orrery/error.h"
#include "run/containment/lp_names.h"
#include "run/engine_cases.h"

namespace orrery::testing {
namespace {

const std::vector<std::string> kNames = {"router0", "router1",  "host[3]", "",       "a\\b",
                                         "router1", "10.0.0.1", "",        "Müller", "r"};

NamedLps lps() {
  return {.count = kNames.size(), .name_of = [](LpId lp) { return kNames[lp]; }};
}
LpRanges read(const std::string& text) {
  return read_lps("--lps", text, lps());
}
std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(LpPatterns, MatchNamesAndNumbers) {
  EXPECT_EQ(read("router*"), (LpRanges{{0, 1}, {5, 5}}));
  EXPECT_EQ(read("router1"), (LpRanges{{1, 1}, {5, 5}})) << "a name may be that of several LPs";
  EXPECT_EQ(read("router?,7..8,2"), (LpRanges{{0, 2}, {5, 5}, {7, 8}}));
  EXPECT_EQ(read("*"), (LpRanges{{0, 9}})) << "also LPs without names";
  EXPECT_EQ(read("?"), (LpRanges{{3, 3}, {7, 7}, {9, 9}})) << "numbers of LPs without names";
  EXPECT_EQ(read("10.0.0.*"), (LpRanges{{6, 6}}));
  EXPECT_EQ(read("10.0.0.1"), (LpRanges{{6, 6}})) << "not a range";
  EXPECT_EQ(read("M*ller"), (LpRanges{{8, 8}}));
  EXPECT_EQ(read(""), LpRanges{});
}

TEST(LpPatterns, KnowNoOtherWildcards) {
  EXPECT_EQ(read("host[3]"), (LpRanges{{2, 2}}));
  EXPECT_EQ(read("host[*]"), (LpRanges{{2, 2}}));
  EXPECT_EQ(read("a\\b"), (LpRanges{{4, 4}}));
  EXPECT_NE(refusal("[r]"), "");
}

TEST(LpPatterns, SayWhatThereIs) {
  EXPECT_EQ(
      refusal("switch*"),
      "--lps: no LP matches 'switch*': the model has 10 LPs, with the names router0, router1, "
      "host[3], a\\b, router1, ...");
  EXPECT_EQ(refusal("10"), "--lps: there is no LP 10; the model has 10, from 0 on");
  EXPECT_NE(refusal("3..1"), "");
  EXPECT_NE(refusal("1..x"), "");
  EXPECT_NE(refusal("router*,,1"), "");
  const NamedLps nameless{.count = 3, .name_of = [](LpId) { return std::string(); }};
  try {
    read_lps("--lps", "router*", nameless);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(
        error.what(),
        "--lps: no LP matches 'router*': the model names no LPs; their numbers are 0 to 2");
  }
}

TEST(LpNames, AreTextForOneLine) {
  for (const char* const right : {"router3", "host[3].eth0", "Müller & <Söhne>", "a b"})
    EXPECT_EQ(mistake_in_name(right), "") << right;
  EXPECT_EQ(mistake_in_name(std::string(256, 'x')), "");
  for (const std::string& wrong :
       {std::string(257, 'x'), std::string("a\nb"), std::string("a\tb"), std::string("\x1b[1m"),
        std::string("\xff"), std::string("\x7f"), std::string("a\0b", 3), std::string("\xc2\x9b")})
    EXPECT_NE(mistake_in_name(wrong), "") << wrong.size();
}

TEST(LpNames, OfAModelAreChecked) {
  ScriptModel model(3);
  EXPECT_EQ(lp_name(model, 1), "");
  EXPECT_EQ(lp_text(model, 1), "LP 1");
  model.on_name = [](LpId id) { return id == 0 ? "hub" : "a\nb"; };
  EXPECT_EQ(lp_name(model, 0), "hub");
  EXPECT_EQ(lp_text(model, 0), "LP 0 (hub)");
  EXPECT_EQ(lp_text(model, 1), "LP 1");
  EXPECT_EQ(lp_text(model, 3), "LP 3") << "which does not exist";
  EXPECT_THROW(lp_name(model, 1), ModelFault);
  model.on_name = [](LpId) -> std::string { throw std::runtime_error("no"); };
  EXPECT_THROW(lp_name(model, 0), ModelFault);
  EXPECT_EQ(lp_text(model, 0), "LP 0");
}

}  // namespace
}  // namespace orrery::testing
